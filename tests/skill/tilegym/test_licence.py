"""A port's files carry the licence lines of their reference, whatever comment signs their language has."""

from __future__ import annotations

import pytest

from tileport_skill.tilegym.licence import licence_lines, missing_lines, with_licence

COPYRIGHT, LICENCE = "SPDX-FileCopyrightText: Copyright (c) 2025 Somebody & others.", "SPDX-License-Identifier: MIT"
REFERENCE = f"# {COPYRIGHT}\n#\n# {LICENCE}\n\nimport torch\n"


@pytest.mark.parametrize(
    "text",
    [
        REFERENCE,
        f"#!/usr/bin/env python3\n{REFERENCE}",
        f"// {COPYRIGHT}\n//\n// {LICENCE}\n\nfn f() {{}}\n",
        f"/* {COPYRIGHT} */\n/* {LICENCE} */\n",
        f"<!--- {COPYRIGHT} --->\n\n<!--- {LICENCE} --->\n".replace("<!---", "<!--").replace("--->", "-->"),
    ],
)
def test_the_lines_are_read_without_their_comment_signs(text: str) -> None:
    assert licence_lines(text) == (COPYRIGHT, LICENCE)


def test_a_string_or_a_line_far_below_is_no_licence() -> None:
    assert licence_lines(f'X = "{LICENCE}"\n' + "\n" * 30 + f"# {LICENCE}\n") == ()


def test_what_is_missing_is_put_on_top_once() -> None:
    made = with_licence(REFERENCE, "a/kernel.rs", "// a kernel\n")
    assert made == f"// {COPYRIGHT}\n//\n// {LICENCE}\n\n// a kernel\n"
    assert missing_lines(REFERENCE, made) == ()
    assert with_licence(REFERENCE, "a/kernel.rs", made) == made
    assert with_licence(REFERENCE, "a.py", "x = 1\n").startswith(f"# {COPYRIGHT}\n#\n")


def test_a_reference_without_lines_asks_for_none() -> None:
    assert with_licence("import torch\n", "a.py", "x = 1\n") == "x = 1\n"
