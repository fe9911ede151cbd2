"""The port's outputs against the reference's on one row, at the tolerances of TileGym's own tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

_CHUNK = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How far apart two sides' outputs are; `problem` is None if they agree."""

    problem: str | None
    largest: float
    """The largest absolute difference of finite elements."""


def compare(expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor], rtol: float, atol: float) -> Difference:
    """Same number, shapes and types; close where the reference is finite, and finite there too."""
    if not expected:
        return Difference(problem="the reference returned no tensor", largest=0.0)
    if len(expected) != len(actual):
        return Difference(problem=f"{len(actual)} tensors instead of {len(expected)}", largest=0.0)
    largest = 0.0
    for index, (want, found) in enumerate(zip(expected, actual, strict=True)):
        if (want.shape, want.dtype) != (found.shape, found.dtype):
            text = f"{found.dtype}{list(found.shape)} instead of {want.dtype}{list(want.shape)}"
            return Difference(problem=f"output {index} is {text}", largest=largest)
        wrong, most = _apart(want, found, rtol, atol)
        largest = max(largest, most)
        if wrong:
            problem = f"{wrong} of {want.numel()} elements of output {index} differ, by up to {most:.3g}"
            return Difference(problem=problem, largest=largest)
    return Difference(problem=None, largest=largest)


def _apart(want: torch.Tensor, found: torch.Tensor, rtol: float, atol: float) -> tuple[int, float]:
    wrong, largest = 0, 0.0
    flat_want, flat_found = want.reshape(-1), found.reshape(-1)
    for start in range(0, want.numel(), _CHUNK):
        a, b = (flat[start : start + _CHUNK].double() for flat in (flat_want, flat_found))
        close = torch.isclose(b, a, rtol=rtol, atol=atol, equal_nan=True)
        wrong += int((~close).sum())
        apart = (a - b).abs()
        largest = (
            max(largest, float(torch.where(torch.isfinite(apart), apart, 0.0).max())) if apart.numel() else largest
        )
    return wrong, largest
