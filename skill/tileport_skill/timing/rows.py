"""The rows an operator is measured on, read from `rows.toml`; chosen beforehand, never by what they show."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from tileport_skill.errors import RequestError

MOST = 12
"""Rows of one operator."""

Value = int | float | bool | str | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One call of an operator: the arguments of its function in `inside/calls.py`."""

    operator: str
    arguments: Mapping[str, Value]

    @property
    def id(self) -> str:
        """Words a person reads and a file can be named after: `m=4096,n=1024,float16`."""
        return ",".join(_word(name, value) for name, value in self.arguments.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSet:
    """All rows of one operator, with where they come from and why these."""

    operator: str
    origin: tuple[str, ...]
    """TileGym's files, or `ours`."""
    why: str
    rtol: float
    atol: float
    rows: tuple[Row, ...]


def rows_of(operator: str) -> RowSet:
    """Raises `RequestError` if no rows are kept for `operator`."""
    found = all_rows().get(operator)
    if found is None:
        raise RequestError(
            f"No rows are kept for {operator!r}, so there is nothing to time. Add them to "
            "skill/tileport_skill/timing/rows.toml and its call to timing/inside/calls.py; "
            f"kept are: {', '.join(all_rows())}."
        )
    return found


@cache
def all_rows() -> Mapping[str, RowSet]:
    with (Path(__file__).parent / "rows.toml").open("rb") as file:
        table = tomllib.load(file)
    return MappingProxyType({operator: _row_set(operator, kept) for operator, kept in sorted(table.items())})


def _row_set(operator: str, kept: Mapping[str, object]) -> RowSet:
    rows = kept["rows"]
    origin = kept["from"]
    assert isinstance(rows, list)
    assert isinstance(origin, list)
    return RowSet(
        operator=operator,
        origin=tuple(map(str, origin)),
        why=str(kept["why"]),
        rtol=float(str(kept["rtol"])),
        atol=float(str(kept["atol"])),
        rows=tuple(Row(operator=operator, arguments=_frozen(row)) for row in rows),
    )


def _frozen(row: Mapping[str, object]) -> Mapping[str, Value]:
    found: dict[str, Value] = {}
    for name, value in row.items():
        if isinstance(value, list):
            found[name] = tuple(int(item) for item in value)
        elif isinstance(value, int | float | bool | str):
            found[name] = value
        else:
            raise TypeError(f"{name} = {value!r}")
    return MappingProxyType(found)


def _word(name: str, value: Value) -> str:
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    if value is True:
        return name
    if value is False:
        return f"no-{name}"
    return value if isinstance(value, str) else f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
