"""What an expression of the source is while it is translated: a piece of Rust with a type that may hold generics."""

from __future__ import annotations

from dataclasses import dataclass

from tileport_skill.draft.rust import Expr, shape

Dims = tuple[str, ...]
"""Sizes as Rust writes them: `TILE_SIZE`, `1`."""


class Untranslatable(Exception):
    """A construct that has no translation; the text names it, `line` is the source's."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line

    def at(self, line: int) -> Untranslatable:
        return self if self.line is not None else Untranslatable(str(self), line)


class Apart(Untranslatable):
    """A branch over the kernel's constants whose arms leave values of other types behind: an entry for each arm."""

    def __init__(self, what: str, condition: str) -> None:
        super().__init__(what)
        self.condition = condition
        """Over the kernel's constants."""

    def at(self, line: int) -> Untranslatable:
        self.line = self.line or line
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    expr: Expr
    element: str
    dims: Dims
    typed: bool = True
    """Whether the Rust compiler finds the type by itself, so that the expression may stand inside another."""

    @property
    def type(self) -> str:
        return f"Tile<{self.element}, {{ [{', '.join(self.dims)}] }}>"

    @property
    def shape(self) -> Expr:
        return shape(self.dims)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A multiplication that the compiler merges into the sum it is used in: written only there."""

    left: Tile
    right: Tile


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A scalar. `literal` is its value where it is the same in every specialisation."""

    expr: Expr
    dtype: str
    """`i32`, `f32`, `bool`, or a type generic."""
    literal: int | float | bool | None = None
    fixed: bool = False
    """Whether it is known when the kernel is compiled."""
    name: str | None = None
    """What the source calls the literal."""
    origin: str | None = None
    """The Python expression over the kernel's constants that makes it; None where it is known only on the device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """A parameter in global memory."""

    name: str
    element: str
    rank: int
    pointer: bool
    """Whether the entry takes it apart: pointer, sizes, strides. Otherwise it is a `&Tensor`."""
    sizes: tuple[str, ...] = ()
    strides: tuple[str, ...] = ()
    dense: bool = True
    """Whether the last stride is always 1."""

    @property
    def needed_strides(self) -> tuple[str, ...]:
        """The strides that say where an element lies."""
        return self.strides[:-1] if self.dense else self.strides


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Symbol:
    """What has no value in the kernel: an element type, an enumeration's member, a function, `None`."""

    text: str


Value = Tile | Product | Number | Array | Items | Symbol
