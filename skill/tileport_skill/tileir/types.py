"""The types of Tile IR as records, read from and written to `tileirdisasm`'s spelling."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass

ELEMENTS = frozenset(
    {
        "i1",
        "i4",
        "i8",
        "i16",
        "i32",
        "i64",
        "f16",
        "bf16",
        "f32",
        "tf32",
        "f64",
        "f8E4M3FN",
        "f8E5M2",
        "f8E8M0FNU",
        "f4E2M1FN",
        "fnv8E5M3FNU",
    }
)


@dataclass(frozen=True, slots=True)
class Pointer:
    """Address of an element; only ever the element type of a tile."""

    to: str

    def __str__(self) -> str:
        return f"ptr<{self.to}>"


@dataclass(frozen=True, slots=True)
class Tile:
    """A value: a block of elements, rank 0 for a scalar."""

    shape: tuple[int, ...]
    element: str | Pointer

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"tile<{''.join(f'{n}x' for n in self.shape)}{self.element}>"


@dataclass(frozen=True, slots=True)
class Token:
    """An ordering between memory operations; carries no data."""

    def __str__(self) -> str:
        return "token"


@dataclass(frozen=True, slots=True)
class TensorView:
    """A pointer with shape and strides; None stands for a dimension known at run time only."""

    shape: tuple[int | None, ...]
    element: str
    strides: tuple[int | None, ...]

    def __str__(self) -> str:
        dims = "".join(f"{_dim(n)}x" for n in self.shape)
        strides = f", strides=[{','.join(map(_dim, self.strides))}]" if self.shape else ""
        return f"tensor_view<{dims}{self.element}{strides}>"


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A tensor view cut into tiles. Tile dimension `i` runs along dimension `dim_map[i]` of the tensor."""

    tile: tuple[int, ...]
    padding: str | None
    tensor: TensorView
    dim_map: tuple[int, ...]

    def __str__(self) -> str:
        return f"partition_view<{_tile(self.tile)}, {_padding(self.padding)}{self.tensor}{_map(self.dim_map)}>"


@dataclass(frozen=True, slots=True)
class StridedView:
    """As a partition view, but neighbouring tiles start `traversal` elements apart."""

    tile: tuple[int, ...]
    traversal: tuple[int, ...]
    padding: str | None
    tensor: TensorView
    dim_map: tuple[int, ...]

    def __str__(self) -> str:
        steps = f"traversal_strides=[{','.join(map(str, self.traversal))}]"
        rest = f"{_padding(self.padding)}{self.tensor}{_map(self.dim_map)}"
        return f"strided_view<{_tile(self.tile)}, {steps}, {rest}>"


@dataclass(frozen=True, slots=True)
class GatherScatterView:
    """A tensor view whose dimension `sparse_dim` is indexed by a tile of indices."""

    tile: tuple[int, ...]
    padding: str | None
    tensor: TensorView
    sparse_dim: int

    def __str__(self) -> str:
        rest = f"{_padding(self.padding)}{self.tensor}, sparse_dim={self.sparse_dim}"
        return f"gather_scatter_view<{_tile(self.tile)}, {rest}>"


View = PartitionView | StridedView | GatherScatterView
Type = Tile | Token | TensorView | View

_TENSOR = r"tensor_view<((?:(?:\d+|\?)x)*)(\w+)(?:, strides=\[([\d?,]*)\])?>"
_VIEW = re.compile(
    r"(partition|strided|gather_scatter)_view<tile=\(([\dx]*)\), (?:traversal_strides=\[([\d,]+)\], )?"
    rf"(?:padding_value = (\w+), )?({_TENSOR})(?:, dim_map=\[([\d, ]+)\])?(?:, sparse_dim=(\d+))?>"
)
_TILE = re.compile(r"tile<((?:\d+x)*)(?:ptr<(\w+)>|(\w+))>")


@functools.lru_cache(maxsize=8192)
def parse_type(text: str) -> Type:
    """Raises `ValueError` if `text` is no type this module knows."""
    if text == "token":
        return Token()
    if found := _TILE.fullmatch(text):
        element: str | Pointer = Pointer(_element(found[2])) if found[2] else _element(found[3])
        return Tile(tuple(int(n) for n in found[1].split("x")[:-1]), element)
    if found := re.fullmatch(_TENSOR, text):
        return _tensor(*found.groups())
    if found := _VIEW.fullmatch(text):
        return _view(found)
    raise ValueError(f"not a type: {text}")


def _view(found: re.Match[str]) -> View:
    kind, tile_text, traversal, padding = found[1], found[2], found[3], found[4]
    tile = tuple(map(int, tile_text.split("x")))
    tensor = _tensor(found[6], found[7], found[8])
    dim_map = tuple(map(int, found[9].split(","))) if found[9] else tuple(range(len(tile)))
    if kind == "partition":
        return PartitionView(tile, padding, tensor, dim_map)
    if kind == "strided" and traversal:
        return StridedView(tile, tuple(map(int, traversal.split(","))), padding, tensor, dim_map)
    if kind == "gather_scatter" and found[10]:
        return GatherScatterView(tile, padding, tensor, int(found[10]))
    raise ValueError(f"not a type: {found[0]}")


def _tensor(dims: str, element: str, strides: str | None) -> TensorView:
    shape = tuple(_known(n) for n in dims.split("x")[:-1])
    steps = tuple(_known(n) for n in strides.split(",")) if strides else ()
    if len(shape) != len(steps):
        raise ValueError(f"a tensor view of {len(shape)} dimensions with {len(steps)} strides")
    return TensorView(shape, _element(element), steps)


def _element(text: str) -> str:
    if text not in ELEMENTS:
        raise ValueError(f"not an element type: {text}")
    return text


def _known(text: str) -> int | None:
    return None if text == "?" else int(text)


def _dim(n: int | None) -> str:
    return "?" if n is None else str(n)


def _tile(shape: tuple[int, ...]) -> str:
    return f"tile=({'x'.join(map(str, shape))})"


def _padding(padding: str | None) -> str:
    return f"padding_value = {padding}, " if padding else ""


def _map(dim_map: tuple[int, ...]) -> str:
    return "" if dim_map == tuple(range(len(dim_map))) else f", dim_map=[{', '.join(map(str, dim_map))}]"
