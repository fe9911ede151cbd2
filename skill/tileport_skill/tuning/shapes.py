"""The calls an operator is tuned on, those held out to check a choice, and in which ways each may be made."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tileport_skill.timing.rows import Row, rows_of
from tileport_skill.tuning.candidates import Choice, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One call, as a row of the timing."""

    row: Row
    held_out: bool

    @property
    def id(self) -> str:
        return self.row.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Everything that is tuned of one operator."""

    operator: str
    shapes: tuple[Shape, ...]
    options: tuple[tuple[tuple[str, Value], ...], ...]
    copies: bool
    rtol: float
    atol: float

    def ways(self, shape: Shape) -> tuple[Choice, ...]:
        """How a call may be made before any kernel is tuned, the reference's own way first."""
        # A row that gives one of the options, under the same or a shorter name, has chosen.
        given = set(shape.row.arguments)
        names = {name for options in self.options for name, _ in options}
        chosen = names & given or {name for name in names if name.removeprefix("static_") in given}
        found = [Choice()]
        if not chosen:
            found += [Choice(options=options) for options in self.options]
        if self.copies:
            found.append(Choice(copies=False))
        return tuple(found)


def task_of(operator: str) -> Task:
    """Raises `RequestError` for an operator without rows."""
    kept = rows_of(operator)
    more = _kept().get(operator, {})
    tuned = [Shape(row=row, held_out=False) for row in (*kept.rows, *_rows(operator, more.get("more", ())))]
    held_out = [Shape(row=row, held_out=True) for row in _rows(operator, more.get("held_out", ()))]
    return Task(
        operator=operator,
        shapes=(*tuned, *held_out),
        options=tuple(tuple(options.items()) for options in more.get("options", ())),
        copies=bool(more.get("copies", False)),
        rtol=kept.rtol,
        atol=kept.atol,
    )


def tunable() -> tuple[str, ...]:
    """Operators that have held-out shapes, so that a choice can stand for more than the shapes it was tuned on."""
    return tuple(_kept())


@cache
def _kept() -> Mapping[str, Any]:
    with (Path(__file__).parent / "shapes.toml").open("rb") as file:
        return MappingProxyType(tomllib.load(file))


def _rows(operator: str, kept: Iterable[Mapping[str, Any]]) -> list[Row]:
    frozen = [{name: tuple(v) if isinstance(v, list) else v for name, v in row.items()} for row in kept]
    return [Row(operator=operator, arguments=MappingProxyType(row)) for row in frozen]
