"""The operator's calls once more with awkward arguments: what a caller may pass and the tests do not.

Strided, misaligned, of size 1, ragged, the variations of the correctness gate, so that what is launched there has been
compared here; and in other element types. Each is a test of its own, named after the one whose call it varies; the
operator decides whether it makes sense, and one that it refuses leaves nothing.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from tileport_skill.capture.records import AGAIN
from tileport_skill.correctness.calls import Places, kind_of, map_tensors, tensors_in, why_not_kept
from tileport_skill.correctness.variations import VARIATIONS
from tileport_skill.tilegym.operators import UNTUNED

LAYOUTS = ("padded rows", "every other element", "transposed", "misaligned", "size 1", "ragged", "ragged rows")
"""Those that change what the host passes on: values make no launch another one."""
TYPES = (torch.float16, torch.bfloat16, torch.float32)

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Again:
    """Notes the calls of each test that the correctness gate would keep, and makes them again."""

    def __init__(self, names: Sequence[str], backend: str) -> None:
        self._names, self._backend = names, backend
        self._places = Places()
        self._calls: list[Call] = []
        self._busy = False
        self.watches = True
        """Whether the running test is one that the correctness gate runs too, and makes the same calls of."""

    def install(self) -> None:
        """After the tests were imported: puts a recorder around each implementation."""
        registry = importlib.import_module("tilegym.backend.dispatcher")._REGISTRY
        for name in self._names:
            implementations = registry.get(name, {})
            if self._backend in implementations:
                implementations[self._backend] = self._noted(name, implementations[self._backend])

    def varied(self, test: str) -> Iterator[tuple[str, Callable[[], None]]]:
        """(name, what makes the call) for each variation of what `test` called; to be made in this order."""
        calls, self._calls = self._calls, []
        for number, (function, args, kwargs) in enumerate(calls):
            for what, arguments in _variations((args, kwargs)):
                yield f"{test}{AGAIN}{number}: {what}", functools.partial(self._make, function, *arguments)

    def _noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            if self._busy:
                return function(*args, **kwargs)
            kind = f"{name} {kind_of((args, kwargs))}"
            place = self._places.of(kind) if self.watches and tensors_in((args, kwargs)) else None
            if place is not None and why_not_kept((args, kwargs)) is None:
                self._places.take(place, kind)
                self._calls.append((function, args, kwargs))
            self._busy = True
            try:
                found = function(*args, **kwargs)
            finally:
                self._busy = False
            # A getter: what it returns is the operator.
            return self._noted(f"{name}()", found) if callable(found) else found

        return noted

    def _make(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The call, and its gradients where it has some, without tuning."""
        before, self._busy = os.environ.get(UNTUNED), True
        os.environ[UNTUNED] = "1"
        try:
            outputs = [one for one in tensors_in(function(*args, **kwargs)) if one.requires_grad]
            if outputs:
                torch.autograd.backward(outputs, [torch.ones_like(one) for one in outputs])
        finally:
            self._busy = False
            del os.environ[UNTUNED]
            if before is not None:
                os.environ[UNTUNED] = before


def _variations(arguments: Any) -> Iterator[tuple[str, Any]]:
    for what in LAYOUTS:
        changed = VARIATIONS[what](arguments, torch.Generator())
        if changed is not None:
            yield what, changed
    own = {tensor.dtype for tensor in tensors_in(arguments)} & set(TYPES)
    for dtype in TYPES if len(own) == 1 else ():
        if dtype not in own:
            yield f"in {str(dtype).removeprefix('torch.')}", map_tensors(arguments, functools.partial(_typed, dtype))


def _typed(dtype: torch.dtype, tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to(dtype).requires_grad_(tensor.requires_grad) if tensor.dtype in TYPES else tensor
