"""The data that ships in a port: which choice holds for which shapes on which architecture, and what it gave.

A table is made for a reference's source and, once a port is drafted, for the hash of its `kernel.rs`. It is read by the
wrapper without anything of ours, so that it is plain lists, numbers and strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter, ValidationError

from tileport_skill.errors import RequestError
from tileport_skill.tuning.candidates import Value

Condition = tuple[int | str, int | str | None, int | str, int | str]
"""Argument, part of it, lowest and highest value; see `classes.Path`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What holds for one class of shapes of one kernel, or of the operator's function where options are chosen."""

    of: str
    """`_softmax_kernel`; `softmax()` for the function."""
    where: tuple[Condition, ...]
    fields: dict[str, Value]
    hints: dict[str, int]
    options: dict[str, Value]
    ratio: float
    """Reference's own choice ÷ this one, the geometric mean over the class's tuned and held-out shapes."""
    low: float
    """The lowest of their lower 95 % bounds."""
    high: float
    shapes: tuple[str, ...]
    """The shapes it was measured on."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One operator on one architecture."""

    operator: str
    arch: str
    reference_sha256: str
    """Of the reference's module: another text may have other kernels, and other host code."""
    date: str
    gpu: str
    versions: dict[str, str]
    copies: bool
    """Whether the wrapper makes the reference's copies of its inputs."""
    lines: tuple[Line, ...]
    format: int = 1
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def is_empty(self) -> bool:
        return not self.lines and self.copies


def read_table(path: Path) -> Table:
    """Raises `RequestError` for a file that is none."""
    try:
        return TypeAdapter(Table).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise RequestError(f"{path} is no tuning table: {str(error).splitlines()[0]}") from error


def write_table(table: Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(TypeAdapter(Table).dump_json(table, indent=1) + b"\n")


def fits(table: Table, operator: str, reference_sha256: str) -> str | None:
    """Why a table is not used for a reference; None if it is."""
    if table.operator != operator:
        return f"the table is of {table.operator}"
    if table.reference_sha256 != reference_sha256:
        return (
            f"the table is for another text of the reference (sha256 {table.reference_sha256[:12]}, not "
            f"{reference_sha256[:12]}): tune again"
        )
    return None


def conditions(rule: Sequence[Any]) -> tuple[Condition, ...]:
    """A class's rule as a line has it."""
    return tuple((bound.path[0], bound.path[1], bound.low, bound.high) for bound in rule)


def holds(where: Sequence[Condition], features: Mapping[Any, Any]) -> bool:
    """What the wrapper evaluates, on features that were captured."""
    for argument, part, low, high in where:
        value = features.get((argument, part))
        if type(value) is not type(low) or not low <= value <= high:  # type: ignore[operator]
            return False
    return True
