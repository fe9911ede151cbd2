"""The lines by which a file says whose it is and under what licence (SPDX). A port is made from its reference, so its
files carry the reference's; TileGym's own check refuses a source file without them."""

from __future__ import annotations

import re
from pathlib import PurePath

_LINE = re.compile(r"^\s*(?:#|//|/\*|\*|<!--)\s*(SPDX-(?:FileCopyrightText|License-Identifier):.*?)\s*(?:\*/|-->)?\s*$")
_HEAD = 20
"""Lines in which it stands, if it does: after a shebang or an encoding, before any code."""


def licence_lines(text: str) -> tuple[str, ...]:
    """`SPDX-…: …` as the head of `text` says it, without comment signs; empty where it says nothing."""
    found = (_LINE.match(line) for line in text.splitlines()[:_HEAD])
    return tuple(match[1] for match in found if match)


def missing_lines(reference: str, text: str) -> tuple[str, ...]:
    """Those of the reference that `text` lacks."""
    return tuple(line for line in licence_lines(reference) if line not in licence_lines(text))


def with_licence(reference: str, path: str, text: str) -> str:
    """`text`, a Python or Rust file at `path`, under the lines of the reference; unchanged where that has none."""
    lines = missing_lines(reference, text)
    if not lines:
        return text
    sign = "#" if PurePath(path).suffix == ".py" else "//"
    return f"\n{sign}\n".join(f"{sign} {line}" for line in lines) + f"\n\n{text}"
