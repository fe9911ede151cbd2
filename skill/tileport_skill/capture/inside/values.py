"""Real values for small integer and boolean tensors, so that host code that reads lengths and offsets can.

Beside each such fake tensor lies a CPU tensor; every operation on fake tensors that all have one is done on those
too. A kernel may write what it is given, so a launch makes the values of its arguments unknown again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

LARGEST = 1 << 16
"""Elements a tensor may have to be followed; offsets and lengths have far fewer."""
EXACT = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
LARGEST_FLOAT = 4
"""Elements a floating-point tensor may have to be followed: the ones that a backward pass begins with, a scale."""
SHAPED = ("ones_like", "zeros_like", "full_like", "empty_like", "new_ones", "new_zeros", "new_full", "new_empty")
"""Operations that take nothing but shape and type from their argument."""
UNMADE = ("empty", "new_empty")
"""Operations whose result holds no value yet, `empty_like` among them: zeros stand for it until somebody writes."""


class Values(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Entered inside the fake mode, so that it sees each operation first; `saw` is told of each."""

    def __init__(self, saw: Callable[[Any, Any, Any, Any], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._saw = saw

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = _faked(func, args, kwargs)
        self._saw(func, args, kwargs, out)
        return out


def _faked(func: Any, args: Any, kwargs: Any) -> Any:
    """The operation on fake tensors, its values beside it where they are known."""
    try:
        out = func(*args, **kwargs)
    except (DataDependentOutputException, DynamicOutputShapeException):
        known = _computed(func, args, kwargs)
        if known is None:
            raise
        if not isinstance(known, torch.Tensor):
            return known
        out = torch.empty(known.shape, dtype=known.dtype, device=_device(args))
        _attach(out, known)
        return out
    if _worth_following(func, out):
        known = _computed(func, args, kwargs)
        if known is not None:
            _attach(out, known)
    return out


def value_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The values of `tensor` if they are known."""
    if not isinstance(tensor, FakeTensor):
        return tensor if _followed(tensor) else None
    found = getattr(tensor, "tileport_value", None)
    if found is None or found.untyped_storage()._cdata in _written:
        return None
    return found  # type: ignore[no-any-return]


def forget(tensor: torch.Tensor) -> None:
    """A kernel got `tensor`: whatever shares its memory has unknown values from now on."""
    found = getattr(tensor, "tileport_value", None)
    if found is not None:
        _written[found.untyped_storage()._cdata] = found.untyped_storage()


def forget_all() -> None:
    """Between tests."""
    _written.clear()


_written: dict[int, Any] = {}
"""Storages of values that a kernel may have changed, kept alive so that their addresses stay theirs."""


def install() -> None:
    """Reading a tensor as a list does not pass through an operation, so it is answered here."""
    tolist = torch.Tensor.tolist

    def listed(self: torch.Tensor) -> Any:
        known = value_of(self) if isinstance(self, FakeTensor) else None
        return tolist(self if known is None else known)

    torch.Tensor.tolist = listed  # type: ignore[method-assign,assignment]


def _computed(func: Any, args: Any, kwargs: Any) -> Any:
    """What `func` gives on the values of its arguments, or `None` if one has none or it is not worth it."""
    leaves, _ = tree_flatten((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    shaped = func.__name__.startswith(SHAPED)
    if not shaped and any(value_of(tensor) is None for tensor in tensors):
        for tensor in tensors[:1] if func._schema.is_mutable else ():
            forget(tensor)
        return None
    on_cpu = tree_map_only(torch.Tensor, _like if shaped else value_of, (args, kwargs))
    args, kwargs = tree_map_only(torch.device, lambda _: torch.device("cpu"), on_cpu)
    try:
        with torch._C._DisableTorchDispatch():
            made = func(*args, **kwargs)
            return made.zero_() if func.__name__.startswith(UNMADE) else made
    except Exception:  # no CPU kernel for it: then its values are unknown
        return None


def _attach(out: Any, known: Any) -> None:
    outs, _ = tree_flatten(out)
    values, _ = tree_flatten(known)
    for tensor, value in zip(outs, values, strict=False):
        if isinstance(tensor, FakeTensor) and isinstance(value, torch.Tensor) and _followed(value):
            tensor.tileport_value = value  # type: ignore[attr-defined]


def _like(tensor: torch.Tensor) -> torch.Tensor:
    with torch._C._DisableTorchDispatch():
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")


def _worth_following(func: Any, out: Any) -> bool:
    """Computing a large one would cost what fake tensors save; random floats would differ from run to run."""
    tensors = [leaf for leaf in tree_flatten(out)[0] if isinstance(leaf, torch.Tensor)]
    if torch.Tag.nondeterministic_seeded in func.tags and any(tensor.dtype not in EXACT for tensor in tensors):
        return False
    return bool(tensors) and all(map(_small, tensors))


def _small(tensor: torch.Tensor) -> bool:
    return tensor.numel() <= (LARGEST if tensor.dtype in EXACT else LARGEST_FLOAT)


def _followed(value: torch.Tensor) -> bool:
    return _small(value) and value.device.type == "cpu"


def _device(args: Any) -> torch.device:
    leaves, _ = tree_flatten(args)
    return next((leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor)), torch.device("cuda:0"))
