"""What cuTile's own compiler says of one kernel in one specialisation: types at places, fused operations, loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

FORBID: dict[str, str] = {"extra": "forbid"}

Span = tuple[int, int, int, int]
"""First line, column, last line and column behind the end, as `ast` counts them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What one expression is. Helper functions are inlined, so the same expression may stand at many places."""

    place: tuple[Span, ...]
    """Its span, after the spans of the calls that lead to it, outermost first."""
    dtype: str | None
    """None where it is no tile or number: a tuple, an array, an enumeration."""
    shape: tuple[int, ...]
    constant: str | None
    """Its value as Python writes it, where the compiler knows it and it is a number, a text or `None`."""
    symbol: str | None
    """What it names, where it names something: `cuda.tile.gather`, `dtype float32`, `PaddingMode.ZERO`."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """A multiplication that the compiler merged into an addition or subtraction."""

    product: tuple[Span, ...]
    sum: tuple[Span, ...]
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One read or write of memory in the finished kernel, in order."""

    place: tuple[Span, ...]
    operation: str
    ordered: bool
    """Whether its token orders it behind another access; all others are unordered."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One specialisation, as the compiler read it."""

    specialisation: str
    nodes: tuple[Node, ...] = ()
    fused: tuple[Fused, ...] = ()
    split_loops: tuple[tuple[Span, ...], ...] = ()
    """Loops that stand twice in the finished kernel: before and from where a condition on the index changes."""
    accesses: tuple[Access, ...] = ()
    refused: str | None = None
    """Why cuTile's compiler does not take it."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A kernel, or a function it calls on the device."""

    name: str
    file: str
    line: int
    """Of its first decorator, or of its `def` if it has none."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelReadings:
    """One kernel, the device functions it reaches, and its specialisations as the compiler read them."""

    kernel: str
    functions: tuple[Function, ...]
    """The kernel's own first."""
    readings: tuple[Reading, ...]
    refused: str | None = None
    """Why its source cannot be found."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Everything one child wrote."""

    kernels: tuple[KernelReadings, ...]
    __pydantic_config__: ClassVar = FORBID
