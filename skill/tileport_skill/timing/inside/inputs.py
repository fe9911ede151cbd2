"""What a call is, and the fresh inputs it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of an operator, ready to be repeated."""

    run: Callable[[], object]
    inputs: tuple[torch.Tensor, ...]
    """What it reads; unchanged by a call unless `in_place`."""
    written: tuple[torch.Tensor, ...] = ()
    """What it writes besides what it returns."""
    in_place: bool = False


class Maker:
    """Fresh inputs from one seed, all on the GPU."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator(device="cuda").manual_seed(seed)

    def normal(self, shape: tuple[int, ...], dtype: str, deviation: float = 1.0) -> torch.Tensor:
        found = torch.empty(shape, device="cuda", dtype=getattr(torch, dtype))
        return found.normal_(0.0, deviation, generator=self._generator)

    def uniform(self, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
        found = torch.empty(shape, device="cuda", dtype=getattr(torch, dtype))
        return found.uniform_(0.0, 1.0, generator=self._generator)

    def integers(self, high: int, shape: tuple[int, ...], dtype: str = "int32") -> torch.Tensor:
        return torch.randint(high, shape, generator=self._generator, device="cuda", dtype=getattr(torch, dtype))
