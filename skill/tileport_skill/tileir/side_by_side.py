"""A comparison as one HTML page: both texts, equal operations on one row, differences in colour."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from tileport_skill.errors import RequestError
from tileport_skill.tileir.graph import build
from tileport_skill.tileir.numbering import Numbering
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.verdicts import Difference, Verdict

_NAME = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_WORSE = ("note", "slow", "unsound", "wrong")


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of one side, marked up."""

    number: int
    html: Markup


@dataclass(frozen=True, slots=True)
class Row:
    a: Cell | None
    b: Cell | None
    severity: str
    """`same`, `unlike` for text that differs without a listed difference, or a severity."""
    text: str
    """What the differences at this row say."""


def side_by_side(verdict: Verdict, a: str, b: str) -> str:
    """The page. Text that cannot be parsed is shown all the same, aligned by its words."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    rows = _rows(verdict.differences, a.splitlines(), b.splitlines(), _marks(a, b))
    return environment.get_template("side_by_side.html").render(verdict=verdict, rows=rows)


def _marks(a: str, b: str) -> tuple[list[str], list[str]]:
    """For each line of both sides something that is equal where the operations are."""
    numbering = Numbering()
    found = []
    for side, text in enumerate((a, b)):
        marks = [f"{side}:{_NAME.sub('%', line)}" for line in text.splitlines()]
        plain = [_NAME.sub("%", line) for line in text.splitlines()]
        try:
            module = parse(text)
            for entry in module.entries:
                for op, number in build(entry, numbering).numbers.items():
                    marks[op.line - 1] = f"#{number}"
        except (RequestError, KeyError):
            marks = plain
        else:
            keep = ("assume", "make_token", "}", "return", "continue", "yield", "entry")
            marks = [p if any(word in p for word in keep) else m for m, p in zip(marks, plain, strict=True)]
        found.append(marks)
    return found[0], found[1]


def _rows(
    differences: tuple[Difference, ...], a: list[str], b: list[str], marks: tuple[list[str], list[str]]
) -> list[Row]:
    at_a: dict[int, list[Difference]] = {}
    at_b: dict[int, list[Difference]] = {}
    for difference in differences:
        if difference.a is not None:
            at_a.setdefault(difference.a.number, []).append(difference)
        if difference.b is not None:
            at_b.setdefault(difference.b.number, []).append(difference)
    rows = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, *marks, autojunk=False).get_opcodes():
        for step in range(max(i2 - i1, j2 - j1)):
            left = _cell(a, i1 + step) if i1 + step < i2 else None
            right = _cell(b, j1 + step) if j1 + step < j2 else None
            here = (at_a.get(left.number, []) if left else []) + (at_b.get(right.number, []) if right else [])
            severity = max((d.severity for d in here), key=_WORSE.index, default="")
            text = "; ".join(dict.fromkeys(f"{d.kind}: {d.text}" for d in here))
            rows.append(Row(left, right, severity or ("same" if tag == "equal" else "unlike"), text))
    return rows


def _cell(lines: list[str], index: int) -> Cell:
    """Names become spans, so that a value's definition and uses light up together."""
    line, end, out = lines[index], 0, Markup()
    for found in _NAME.finditer(line):
        name = found[0].partition("#")[0]
        out += escape(line[end : found.start()]) + Markup('<span class="v" data-v="{}">{}</span>').format(
            name, found[0]
        )
        end = found.end()
    return Cell(index + 1, out + escape(line[end:]))
