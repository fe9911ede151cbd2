"""What a value is while a kernel runs: elements, and which of them are unspecified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tileport_skill.tileir.elements import Array
from tileport_skill.tileir.types import View


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """A tile. Pointers are addresses in 64-bit integers. `poison` marks elements that may hold anything."""

    data: Array
    poison: Array | None = None

    def with_poison(self, more: Array | None) -> Elements:
        if more is None or not more.any():
            return self
        mine = more if self.poison is None else self.poison | more
        return Elements(self.data, np.broadcast_to(mine, self.data.shape))


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor view at run time."""

    base: int
    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A partition, strided or gather view at run time."""

    type: View
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Before:
    """A token: one bit for each memory access of this block that comes before."""

    accesses: int = 0


Held = Elements | Tensor | Cut | Before


def either(*poisons: Array | None) -> Array | None:
    """Where any of the operands is poison; None if none is anywhere."""
    found: Array | None = None
    for poison in poisons:
        if poison is not None:
            found = poison if found is None else found | poison
    return found
