"""The calls an operator's tests make, kept with their tensors so that another process can make them again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

MAX_CALLS = 12
MAX_BYTES = 96 << 20
PER_KIND = 2
FIRST_SEED = 67280421310721
"""What both sides' tests begin with. torch takes another in each process, a test may ask for it, as TileGym's of
dropout does, and a kernel may be compiled for it: then the two sides' would not be one kernel."""
_PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device)


def map_tensors(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """`value` with every tensor in it, inside lists, tuples and dictionaries too, replaced by `change` of it."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        made = [map_tensors(item, change) for item in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    return value


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Every tensor in `value`, in order."""
    found: list[torch.Tensor] = []
    map_tensors(value, found.append)
    return found


def is_performance(test: str) -> bool:
    """Whether the test of that name measures time, which is another gate's business."""
    return "perf" in test.split("[")[0]


class Places:
    """Which calls are kept: a dozen of different kinds, two of each, in the order they are made.

    When they are a dozen, a kind not met before takes the place of the last one that is its kind's second.
    """

    def __init__(self) -> None:
        self._kinds: list[str] = []

    def of(self, kind: str) -> int | None:
        """The number that a call of this kind is kept under, if it is."""
        met = self._kinds.count(kind)
        if met < PER_KIND and len(self._kinds) < MAX_CALLS:
            return len(self._kinds)
        seconds = [n for n, one in enumerate(self._kinds) if one in self._kinds[:n]]
        return seconds[-1] if met == 0 and seconds else None

    def take(self, place: int, kind: str) -> None:
        self._kinds[place : place + 1] = [kind]


class CallStore:
    """Keeps calls in numbered files of one folder, as many and of such kinds as `Places` says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = Places()
        self.refused: dict[str, None] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], tolerances: Any) -> None:
        """Writes the call, unless its kind has been kept often enough, or its arguments cannot be kept."""
        kind = f"{name} {kind_of((args, kwargs))}"
        place = self._places.of(kind)
        if place is None:
            return
        problem = why_not_kept((args, kwargs))
        if problem is not None:
            self.refused[f"{name}: {problem}"] = None
            return
        self._places.take(place, kind)
        document = {"name": name, "args": _leaves(args), "kwargs": _leaves(kwargs), "tolerances": tolerances}
        part = self._folder / f"{place:03}.part"
        torch.save(document, part)
        part.replace(self._folder / f"{place:03}.pt")


def load_calls(folder: Path) -> list[dict[str, Any]]:
    """The kept calls in order, their tensors on the CPU."""
    paths = sorted(folder.glob("*.pt"))
    return [torch.load(path, map_location="cpu", weights_only=False) for path in paths]


def on_device(value: Any) -> Any:
    """Every tensor on the GPU, with the strides, the offset and the shared storage it has on the CPU."""
    moved: dict[int, Any] = {}

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.is_cuda:
            return tensor
        storage = tensor.untyped_storage()
        there = moved.setdefault(storage.data_ptr(), storage.cuda())
        made = torch.empty(0, dtype=tensor.dtype, device="cuda")
        made.set_(there, tensor.storage_offset(), tensor.shape, tensor.stride())
        return made.requires_grad_(tensor.requires_grad)

    return map_tensors(value, change)


def _leaves(value: Any) -> Any:
    """Detached copies that keep strides, storage and whether a gradient is asked for."""
    return map_tensors(value, lambda tensor: tensor.detach().requires_grad_(tensor.requires_grad))


def kind_of(value: Any) -> str:
    """What makes two calls different in kind: types, ranks, layouts and every plain argument, but not sizes."""
    if isinstance(value, torch.Tensor):
        layout = "dense" if value.is_contiguous() else "strided"
        return f"{value.dtype}/{value.dim()}/{layout}/{value.requires_grad}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(kind_of, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {kind_of(item)}' for key, item in value.items())}}}"
    return repr(value) if isinstance(value, (bool, str, torch.dtype, type(None))) else type(value).__name__


def why_not_kept(value: Any) -> str | None:
    """Why a call cannot be made again elsewhere; None where it can."""
    tensors = tensors_in(value)
    size = sum(tensor.untyped_storage().nbytes() for tensor in tensors)
    if size > MAX_BYTES:
        return f"its tensors take {size >> 20} MiB, more than {MAX_BYTES >> 20}"
    if any(tensor.requires_grad and not tensor.is_leaf and tensor.grad_fn is None for tensor in tensors):
        return "a tensor belongs to another graph"
    others: list[str] = []
    _plain_or(value, others)
    return f"an argument of type {others[0]} cannot be kept" if others else None


def _plain_or(value: Any, others: list[str]) -> None:
    if isinstance(value, (list, tuple)):
        for item in value:
            _plain_or(item, others)
    elif isinstance(value, dict):
        for item in value.values():
            _plain_or(item, others)
    elif not isinstance(value, (*_PLAIN, torch.Tensor)):
        others.append(type(value).__name__)
