"""Passages of documents that tell of one operator's port, in any language: found by its names, never by their words.

A passage is what blank lines set off, an item of a list, or a row of a table. In a document about the porting backend
every passage that names the operator goes; elsewhere only one that names both. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

SUFFIXES = (".md", ".rst", ".txt", ".mdx")
COMMENTED = {".sh": "#", ".py": "#", ".toml": "#", ".yaml": "#", ".yml": "#", ".rs": "//"}
"""Sources whose comments are looked at too, where the porting backend is what they are about."""
_BACKEND = re.compile(r"cutile[-_ ]?rs\b|cutile[-_ ]rust", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"(#{1,6})\s")
_ITEM = re.compile(r"\s*([-*+]|\d+[.)]|\|)\s?")


@dataclass(frozen=True, slots=True)
class Names:
    """What an operator is called: matched between anything but letters and digits, so `bmm` in `test_bmm.py` too."""

    pattern: re.Pattern[str]

    @staticmethod
    def of(*names: str) -> Names:
        either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        return Names(re.compile(rf"(?<![A-Za-z0-9])(?:{either})(?![A-Za-z0-9])", re.IGNORECASE))

    def within(self, text: str) -> bool:
        return self.pattern.search(text) is not None


def about_backend(path: str) -> bool:
    """Whether a file is about the porting backend, by the folders it lies in."""
    return _BACKEND.search(path) is not None


def passage_lines(text: str, path: str, names: Names, repeats: Callable[[str], bool]) -> set[int]:
    """The numbers, from 1, of the lines that go. `repeats` says of a passage whether it repeats the port's text."""
    if not names.within(text) and not repeats(text):
        return set()
    about = about_backend(path)
    lines = text.splitlines()
    drop: set[int] = set()
    for first, last in (*_sections(lines, names, about), *_passages(lines)):
        passage = "\n".join(lines[first:last])
        named = names.within(passage) and (about or _BACKEND.search(passage) is not None)
        if named or repeats(passage):
            drop |= set(range(first + 1, last + 1))
    return drop


def comment_lines(text: str, path: str, names: Names) -> set[int]:
    """Lines that are nothing but a comment and name the operator, in a source about the porting backend."""
    sign = COMMENTED.get(PurePosixPath(path).suffix)
    if sign is None or not about_backend(path):
        return set()
    lines = enumerate(text.splitlines(), 1)
    return {number for number, line in lines if line.lstrip().startswith(sign) and names.within(line)}


def _passages(lines: list[str]) -> list[tuple[int, int]]:
    """Half-open ranges, without the fences of code, so that what is left is still a document."""
    found: list[tuple[int, int]] = []
    first: int | None = None
    fenced = False
    for number, line in enumerate([*lines, ""]):
        fence = _FENCE.match(line) is not None
        fenced ^= fence
        # Within a fence a `#` begins a comment and a `-` a flag.
        ends = not line.strip() or fence or (not fenced and _HEADING.match(line))
        if first is not None and (ends or (not fenced and _ITEM.match(line))):
            found.append((first, number))
            first = None
        if first is None and not ends:
            first = number
    return found


def _sections(lines: list[str], names: Names, about: bool) -> list[tuple[int, int]]:
    """Whole sections whose heading names the operator, in a document about the porting backend."""
    if not about:
        return []
    headings, fenced = [], False
    for number, line in enumerate(lines):
        fenced ^= _FENCE.match(line) is not None
        heading = None if fenced else _HEADING.match(line)
        if heading:
            headings.append((number, len(heading[1])))
    found = []
    for at, (number, level) in enumerate(headings):
        if level > 1 and names.within(lines[number]):
            later = [n for n, other in headings[at + 1 :] if other <= level]
            found.append((number, later[0] if later else len(lines)))
    return found
