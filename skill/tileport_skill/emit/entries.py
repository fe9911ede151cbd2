"""What the entries of a `kernel.rs` take, as the emitter describes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeGeneric:
    kind: Literal["type"] = "type"
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstGeneric:
    kind: Literal["const"] = "const"
    name: str
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerParameter:
    """`*mut E`; `element` is a type generic's name or a type."""

    kind: Literal["pointer"] = "pointer"
    name: str
    element: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorParameter:
    """`&Tensor<E, {[-1, D]}>`: a pointer, the sizes and the strides in one."""

    kind: Literal["tensor"] = "tensor"
    name: str
    element: str
    shape: tuple[str, ...]
    mutable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarParameter:
    kind: Literal["scalar"] = "scalar"
    name: str
    dtype: str


Generic = Annotated[TypeGeneric | ConstGeneric, Discriminator("kind")]
EntryParameter = Annotated[PointerParameter | TensorParameter | ScalarParameter, Discriminator("kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One `#[cutile::entry()]` function."""

    name: str
    generics: tuple[Generic, ...]
    parameters: tuple[EntryParameter, ...]
    derived: dict[str, str] = field(default_factory=dict)
    """How the reference's constants make generics that none of them is, where the entry's documentation says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelModule:
    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a kernel's source, or one request on it, came to nothing; line and column are those of `kernel.rs`."""

    kind: str
    message: str
    line: int | None = None
    column: int | None = None
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    def __str__(self) -> str:
        place = "" if self.line is None else f" (line {self.line})"
        return f"{self.message}{place}"
