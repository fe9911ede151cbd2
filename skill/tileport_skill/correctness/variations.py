"""What an operator is asked beyond its own tests: the same calls with fresh, odd and awkward inputs.

Each variation is a pure change of a call's arguments; the reference decides whether it makes sense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tileport_skill.correctness.calls import map_tensors, tensors_in

Change = Callable[[Any, torch.Generator], Any]
"""(arguments, random source) -> changed arguments, or None where there is nothing to change."""
_PADDING = 8
LARGE = 2**31 + 4096
"""Elements of the largest tensor where memory allows: offsets no longer fit 32 bits."""
_LARGE_BYTES = 24 << 30


def fresh(arguments: Any, random: torch.Generator) -> Any:
    """Floating-point values in another order: new to the port, and as sensible as the test's own."""

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point() or tensor.numel() < 2 or tensor.element_size() < 2:
            return _same(tensor, tensor.detach().clone())
        order = torch.randperm(tensor.numel(), generator=random)
        return _same(tensor, tensor.detach().reshape(-1)[order].reshape(tensor.shape))

    return map_tensors(arguments, change)


def padded_rows(arguments: Any, random: torch.Generator) -> Any:
    """Rows further apart than they are long."""
    return _relaid(
        arguments,
        lambda t: torch.empty(*t.shape[:-1], t.shape[-1] + _PADDING, dtype=t.dtype, device=t.device)[..., :-_PADDING],
    )


def every_other(arguments: Any, random: torch.Generator) -> Any:
    """Neighbours in a row that are not neighbours in memory."""
    return _relaid(
        arguments, lambda t: torch.empty(*t.shape[:-1], 2 * t.shape[-1], dtype=t.dtype, device=t.device)[..., ::2]
    )


def transposed(arguments: Any, random: torch.Generator) -> Any:
    """The last two dimensions in the other order in memory."""
    if not any(tensor.dim() > 1 for tensor in tensors_in(arguments)):
        return None
    return _relaid(
        arguments, lambda t: torch.empty(_swapped(t.shape), dtype=t.dtype, device=t.device).transpose(-1, -2), rank=2
    )


def misaligned(arguments: Any, random: torch.Generator) -> Any:
    """Addresses that are multiples of the element's size and of nothing more."""
    return _relaid(arguments, lambda t: torch.empty(t.numel() + 1, dtype=t.dtype, device=t.device)[1:].view(t.shape))


def one(arguments: Any, random: torch.Generator) -> Any:
    """A first dimension of 1."""
    return _narrowed(arguments, lambda size: 1 if size > 1 else size)


def ragged(arguments: Any, random: torch.Generator) -> Any:
    """A first dimension that is odd and no multiple of any tile."""
    return _narrowed(arguments, lambda size: size // 2 * 2 - 1 if size > 2 else size)


def ragged_rows(arguments: Any, random: torch.Generator) -> Any:
    """Rows two elements shorter, for operators of one floating-point tensor."""
    floats = [tensor for tensor in tensors_in(arguments) if tensor.dim() > 1]
    if len(floats) != 1 or len(tensors_in(arguments)) != 1 or floats[0].shape[-1] < 5:
        return None
    return map_tensors(arguments, lambda tensor: _same(tensor, tensor.detach()[..., :-2].contiguous()))


def empty(arguments: Any, random: torch.Generator) -> Any:
    """A first dimension of 0."""
    return _narrowed(arguments, lambda size: 0)


def large(arguments: Any, random: torch.Generator) -> Any:
    """More than 2³¹ elements, for operators of one tensor: the rows again and again."""
    tensors = tensors_in(arguments)
    if len(tensors) != 1 or tensors[0].dim() < 2 or not tensors[0].is_floating_point():
        return None
    tensor = tensors[0]
    times = -(-LARGE // max(1, tensor.numel()))
    if tensor.numel() == 0 or times * tensor.numel() * tensor.element_size() > _LARGE_BYTES:
        return None
    # Made on the device by the process that replays: such a tensor is no file to carry about.
    sizes = (times, *[1] * (tensor.dim() - 1))
    return map_tensors(arguments, lambda t: t.detach().to("cuda").repeat(sizes))


VARIATIONS: dict[str, Change] = {
    "fresh values": fresh,
    "padded rows": padded_rows,
    "every other element": every_other,
    "transposed": transposed,
    "misaligned": misaligned,
    "size 1": one,
    "ragged": ragged,
    "ragged rows": ragged_rows,
    "empty": empty,
    "large": large,
}
"""In the order they are run: what could bring a process down comes late."""


def _same(like: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """`made`, laid out as `like` where it can be, asking for a gradient as `like` does."""
    if made.shape == like.shape and made.stride() != like.stride() and _dense(like):
        made = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype, device=like.device).copy_(made)
    return made.requires_grad_(like.requires_grad)


def _dense(tensor: torch.Tensor) -> bool:
    return all(stride != 0 or size == 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))


def _relaid(arguments: Any, room: Callable[[torch.Tensor], torch.Tensor], rank: int = 1) -> Any:
    """Every tensor of at least `rank` dimensions with the same values in other memory."""
    tensors = [tensor for tensor in tensors_in(arguments) if tensor.dim() >= rank and tensor.numel()]
    if not tensors:
        return None

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() < rank or not tensor.numel():
            return _same(tensor, tensor.detach().clone())
        made = room(tensor)
        if type(made) is torch.Tensor:  # a fake one has no memory
            # NaN wherever the call has no business to read.
            made.untyped_storage().fill_(0xFF)  # type: ignore[attr-defined]
        return made.copy_(tensor.detach()).requires_grad_(tensor.requires_grad)

    return map_tensors(arguments, change)


def _swapped(shape: torch.Size) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2])


def _narrowed(arguments: Any, size_of: Callable[[int], int]) -> Any:
    """The first tensor's first dimension, and every other tensor's that is as long, made shorter."""
    tensors = [tensor for tensor in tensors_in(arguments) if tensor.dim() > 1]
    if not tensors:
        return None
    size = tensors[0].shape[0]
    wanted = size_of(size)
    if wanted == size:
        return None

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() > 1 and tensor.shape[0] == size:
            return tensor.detach()[:wanted].clone().requires_grad_(tensor.requires_grad)
        return _same(tensor, tensor.detach().clone())

    return map_tensors(arguments, change)
