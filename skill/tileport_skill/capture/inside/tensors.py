"""Fake CUDA tensors that survive what tests do to tensors: comparing, reading scalars, moving modules, attention.

Values do not exist, so whatever compares them agrees; what reads one gets a neutral value where a test reads it
for its own bookkeeping, and the real error where the operator itself depends on it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch._subclasses.fake_tensor as fake
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor

reads: list[str] = []
"""Lines of tests that read a value and got a neutral one, since the last `clear()`."""


def install(package: str, tests: str) -> None:
    """To be called once, before the tests are collected; `package` and `tests` are where the checkout's code lies."""
    torch.autograd.set_multithreading_enabled(False)  # launches from autograd's own thread would be lost
    setattr(fake, "init_gpu_context", _always(None))  # noqa: B010 - it would start a CUDA context
    _agree_on_values()
    _neutral_scalars(package, tests)
    _drop_constants_on_moves()
    torch.nn.functional.scaled_dot_product_attention = _attention
    torch.nn.Module._apply = _apply_to_parameters  # type: ignore[method-assign]


def _agree_on_values() -> None:
    for holder, name, answer in (
        (torch, "allclose", True),
        (torch, "equal", True),
        (torch.testing, "assert_close", None),
        (torch.testing, "assert_allclose", None),
    ):
        setattr(holder, name, _always(answer))


def _always(answer: object) -> Any:
    return lambda *_args, **_options: answer


def _neutral_scalars(package: str, tests: str) -> None:
    def one(tensor: torch.Tensor) -> float | int | bool:
        return True if tensor.dtype is torch.bool else 1.0 if tensor.dtype.is_floating_point else 1

    neutral = {
        "item": one,
        "__bool__": _always(True),
        "__float__": _always(1.0),
        "__int__": _always(1),
        "__index__": _always(1),
    }
    for name, value in neutral.items():
        setattr(torch.Tensor, name, _reading(getattr(torch.Tensor, name), value, package, tests))


def _reading(
    original: Callable[..., Any], neutral: Callable[[Any], Any], package: str, tests: str
) -> Callable[..., Any]:
    def read(self: torch.Tensor, *args: Any) -> Any:
        if not isinstance(self, FakeTensor):
            return original(self, *args)
        try:
            return original(self, *args)
        except DataDependentOutputException:
            line = _line_in_tests(package, tests)
            if line is None:
                raise
            reads.append(line)
            return neutral(self)

    return read


def _line_in_tests(package: str, tests: str) -> str | None:
    """The innermost line of the checkout on the stack, if it belongs to a test rather than to the operator."""
    frame = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(package):
            return None
        if path.startswith(tests):
            return f"{path.removeprefix(tests).lstrip('/')}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _drop_constants_on_moves() -> None:
    """A fake tensor that remembers its CPU value would run the real copy to the GPU; without the value it fakes it."""
    to, tensor, cuda = torch.Tensor.to, torch.tensor, torch.Tensor.cuda

    def forget(value: torch.Tensor) -> None:
        if isinstance(value, FakeTensor):
            value.constant = None

    def moved_to(self: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        if "cuda" in f"{args}{options}":
            forget(self)
        return to(self, *args, **options)

    def moved_cuda(self: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        forget(self)
        return cuda(self, *args, **options)

    def made(data: Any, **options: Any) -> torch.Tensor:
        if "cuda" not in str(options.get("device")):
            return tensor(data, **options)
        device, wanted = options.pop("device"), options.pop("requires_grad", False)
        return moved_to(tensor(data, **options), device).requires_grad_(wanted)

    torch.Tensor.to = moved_to  # type: ignore[method-assign,assignment]
    torch.Tensor.cuda = moved_cuda  # type: ignore[method-assign,assignment]
    torch.tensor = made  # type: ignore[assignment]


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: object = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Shapes of attention without torch's choice of backend, which asks the device's properties in C++."""
    if enable_gqa:
        groups = query.size(-3) // key.size(-3)
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    weights = torch.softmax((query @ key.transpose(-2, -1)) * (scale or query.size(-1) ** -0.5), -1)
    return weights @ value


def _apply_to_parameters(self: torch.nn.Module, fn: Callable[..., Any], recurse: bool = True) -> torch.nn.Module:
    """Torch swaps a parameter's storage in place, which fake tensors cannot; this replaces the parameter."""
    for module in self.modules():
        for held in (module._parameters, module._buffers):
            for name, old in list(held.items()):
                if old is None:
                    continue
                new = fn(old.detach())
                held[name] = torch.nn.Parameter(new, old.requires_grad) if isinstance(old, torch.nn.Parameter) else new
    return self
