"""One launch to run: the grid and a value for each entry argument, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from tileport_skill.tileir.elements import Array

Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Memory a pointer argument points to: its elements in storage order, and the one pointed at.

    Two arguments with the same `data` object point into the same memory.
    """

    name: str
    data: Array
    offset: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TableRow:
    """One array of a list: where it lies, then its sizes and strides."""

    array: Buffer
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ArrayTable:
    """A pointer to a list of arrays as cuTile lays one out: for each a row of its address, sizes and strides."""

    name: str
    rows: tuple[TableRow, ...]


Given = Buffer | ArrayTable | int | float


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """`arguments` go with the entry's: a buffer or a table for a pointer, a number for a scalar."""

    grid: Grid
    arguments: tuple[Given, ...]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All memory reachable, each once, in the order of the arguments."""
        found: dict[int, Buffer] = {}
        for given in self.arguments:
            for buffer in _reachable(given):
                found.setdefault(id(buffer.data), buffer)
        return tuple(found.values())


def _reachable(given: Given) -> tuple[Buffer, ...]:
    if isinstance(given, Buffer):
        return (given,)
    return tuple(row.array for row in given.rows) if isinstance(given, ArrayTable) else ()


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """An array argument as a host passed it; strides and offset in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    storage: int = 0
    """Arguments of one number lie in one buffer."""
    offset: int = 0

    @property
    def end(self) -> int:
        """One more than the last element's place in its buffer."""
        if 0 in self.shape:
            return self.offset
        return self.offset + 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))

    def __str__(self) -> str:
        dims, steps = "x".join(map(str, self.shape)), ",".join(map(str, self.strides))
        return f"[{dims}:{steps}@{self.storage}+{self.offset}]"


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """A launch some host makes, without the contents of its arrays. Constants of the kernel are no arguments."""

    grid: Grid
    arguments: tuple[ArrayShape | int | float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something the kernel must not do, where it did it."""

    kind: str
    text: str
    block: Grid
    operation: str
    line: int
    needs: tuple[int, int, int] | None = None
    """For a tile outside a view's index space: which buffer's which dimension would have to be how long."""


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A buffer after the launch."""

    name: str
    data: Array
    poison: Array
    """Elements that hold something unspecified."""
    touched: Array
    """Elements that were stored to."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a launch did."""

    buffers: tuple[Written, ...]
    findings: tuple[Finding, ...]
    exact: bool
    """Whether no sum depended on the order it was taken in; otherwise last digits may differ."""
