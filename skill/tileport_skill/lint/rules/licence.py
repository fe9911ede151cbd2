"""What a repository's licence check asks of each new file."""

from __future__ import annotations

from collections.abc import Iterator

from tileport_skill.lint.records import Hit, Part, Port, Rule
from tileport_skill.tilegym.licence import missing_lines

_NEW: tuple[Part, ...] = ("wrapper", "kernel", "launcher")
_LINES = "SPDX-FileCopyrightText: Copyright (c) 2025 Somebody\n{0}\n{0} SPDX-License-Identifier: MIT\n"


def _missing(port: Port) -> Iterator[Hit]:
    reference = port.part("reference")
    for source, part in ((port.part(part), part) for part in _NEW):
        lines = missing_lines(reference.text, source.text) if reference and source else ()
        if lines:
            yield Hit(part=part, line=1, what=f"without `{lines[0]}`")


RULES = (
    Rule(
        id="licence-of-the-reference",
        says="Begin each new file with the SPDX lines that the reference begins with.",
        because="A port is made from its reference, and TileGym's own check refuses a source file without them.",
        check=_missing,
        bad={"reference": f"# {_LINES.format('#')}", "wrapper": "import torch\n"},
        good={"reference": f"# {_LINES.format('#')}", "kernel": f"// {_LINES.format('//')}"},
    ),
)
