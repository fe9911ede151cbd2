"""A kernel as records: what `parse` makes of `tileirdisasm`'s text and everything else here reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tileport_skill.tileir.types import Type


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One SSA value; compared by identity. `line` is where it is defined, counted from 1."""

    name: str
    type: Type
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation. The keys of `operands` and `attributes` are the dialect's own names for them."""

    name: str
    line: int
    results: tuple[Value, ...]
    operands: Mapping[str, tuple[Value, ...]]
    attributes: Mapping[str, str]
    """As spelled; an attribute at its default is absent, as `tileirdisasm` leaves it out."""
    regions: tuple[Region, ...] = ()

    def operand(self, name: str) -> Value:
        """The single operand of that name."""
        (value,) = self.operands[name]
        return value

    def optional(self, name: str) -> Value | None:
        found = self.operands.get(name)
        return found[0] if found else None

    @property
    def result(self) -> Value:
        (value,) = self.results
        return value

    def all_operands(self) -> Iterator[Value]:
        for values in self.operands.values():
            yield from values


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A block of operations with its arguments. An omitted terminator stays omitted."""

    arguments: tuple[Value, ...]
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A kernel."""

    name: str
    line: int
    arguments: tuple[Value, ...]
    hints: str | None
    """The inside of `optimization_hints=<…>`."""
    body: Region


@dataclass(frozen=True, slots=True, eq=False)
class Global:
    """A variable of the module."""

    name: str
    line: int
    text: str
    """The whole line; nothing here looks inside it."""


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A file: globals and kernels in the order they stand."""

    items: tuple[Global | Entry, ...]
    lines: tuple[str, ...] = field(repr=False)
    """The text it was read from, for quoting in messages."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(item for item in self.items if isinstance(item, Entry))


def walk(region: Region) -> Iterator[Op]:
    """Every operation of `region`, outer before inner, in the order of the text."""
    for op in region.ops:
        yield op
        for inner in op.regions:
            yield from walk(inner)
