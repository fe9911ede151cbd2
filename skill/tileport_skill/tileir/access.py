"""Loads, stores and atomics: which addresses an operation touches, and what it finds there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tileport_skill.tileir.elements import STORAGE, Array
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.records import Op
from tileport_skill.tileir.tile_value import Before, Cut, Elements, either
from tileport_skill.tileir.types import GatherScatterView, Pointer, StridedView, Tile

if TYPE_CHECKING:
    from tileport_skill.tileir.interpret import Block

_PADDING = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}


def _start(block: Block) -> int:
    """The number of a new access of this block."""
    block.memory.access += 1
    return block.memory.access


def _report(block: Block, op: Op) -> Callable[[str, str], None]:
    return lambda kind, text: block.finding(kind, op, text)


def _view_addresses(block: Block, op: Op) -> tuple[Array, Array, str, Cut]:
    """Addresses of a tile's elements, which of them lie inside the tensor, the element type, the view."""
    cut = block.held[op.operand("view")]
    assert isinstance(cut, Cut)
    type_, tensor = cut.type, cut.tensor
    shape = type_.tile
    addresses = np.full(shape, tensor.base, np.int64)
    inside = np.ones(shape, bool)
    size = STORAGE[tensor.element].itemsize
    dim_map = range(len(shape)) if isinstance(type_, GatherScatterView) else type_.dim_map
    steps = type_.traversal if isinstance(type_, StridedView) else shape
    for place, (index, dim) in enumerate(zip(block.many(op, "index"), dim_map, strict=True)):
        if index.poison is not None and index.poison.any():
            block.finding("unspecified", op, "a tile's index is unspecified")
        if isinstance(type_, GatherScatterView) and dim == type_.sparse_dim:
            along = index.data.astype(np.int64)
        else:
            number = int(index.data)
            tiles = -(-tensor.shape[dim] // steps[place])
            if not 0 <= number < tiles:
                text = f"tile {number} along dimension {place}, of {tiles}"
                block.finding("index space", op, text, (tensor.base, dim, number * steps[place] + 1))
            along = number * steps[place] + np.arange(shape[place], dtype=np.int64)
        spread = along.reshape([-1 if d == place else 1 for d in range(len(shape))])
        addresses = addresses + spread * (tensor.strides[dim] * size)
        inside = inside & (spread >= 0) & (spread < tensor.shape[dim])
    return addresses, inside, tensor.element, cut


def _load_view(block: Block, op: Op) -> None:
    addresses, inside, element, cut = _view_addresses(block, op)
    dtype, access = STORAGE[element], _start(block)
    data, poison = block.memory.load(addresses, inside, dtype, block.before(op), _report(block, op))
    outside = ~inside
    unsure: Array | None = poison if poison.any() else None
    if outside.any():
        padding = cut.type.padding
        if padding is None:
            unsure = either(unsure, outside)
        elif element.startswith("i"):
            if padding not in ("zero", "neg_zero"):
                raise Unsupported(f"padding {padding} of integers")
        else:
            data[outside] = np.array(_PADDING[padding]).astype(dtype)
    _loaded(block, op, Elements(data, unsure), access)


def _loaded(block: Block, op: Op, value: Elements, access: int) -> None:
    block.held[op.results[0]] = value
    block.held[op.results[1]] = Before(block.before(op) | 1 << access)


def _stored(block: Block, op: Op, access: int) -> None:
    block.held[op.results[-1]] = Before(block.before(op) | 1 << access)


def _store_view(block: Block, op: Op) -> None:
    addresses, inside, _, _ = _view_addresses(block, op)
    value, access = block.elements(op, "tile"), _start(block)
    block.memory.store(addresses, inside, value.data, value.poison, block.before(op), _report(block, op))
    _stored(block, op, access)


def _mask(block: Block, op: Op, shape: tuple[int, ...]) -> Array:
    mask = op.optional("mask")
    if mask is None:
        return np.ones(shape, bool)
    value = block.value(mask)
    if value.poison is not None and value.poison.any():
        block.finding("unspecified", op, "a mask is unspecified")
    return np.broadcast_to(value.data, shape)


def _pointed(op: Op, name: str) -> np.dtype[Any]:
    type_ = op.operand(name).type
    if not isinstance(type_, Tile) or not isinstance(type_.element, Pointer) or type_.element.to not in STORAGE:
        raise Unsupported(f"{op.name} through {type_}")
    return STORAGE[type_.element.to]


def _addresses(block: Block, op: Op, name: str, wanted: Array) -> Array:
    pointers = block.elements(op, name)
    if pointers.poison is not None and (pointers.poison & wanted).any():
        block.finding("unspecified", op, "an address is unspecified")
    return pointers.data


def _load_pointers(block: Block, op: Op) -> None:
    dtype = _pointed(op, "source")
    shape = block.elements(op, "source").data.shape
    wanted, access = _mask(block, op, shape), _start(block)
    addresses = _addresses(block, op, "source", wanted)
    data, poison = block.memory.load(addresses, wanted, dtype, block.before(op), _report(block, op))
    unsure: Array | None = poison if poison.any() else None
    if not wanted.all():
        padding = op.optional("paddingValue")
        if padding is None:
            unsure = either(unsure, ~wanted)
        else:
            value = block.value(padding)
            data = np.where(wanted, data, value.data)
            unsure = either(unsure, None if value.poison is None else value.poison & ~wanted)
    _loaded(block, op, Elements(data, unsure), access)


def _store_pointers(block: Block, op: Op) -> None:
    _pointed(op, "destination")
    value = block.elements(op, "value")
    wanted, access = _mask(block, op, value.data.shape), _start(block)
    addresses = _addresses(block, op, "destination", wanted)
    block.memory.store(addresses, wanted, value.data, value.poison, block.before(op), _report(block, op))
    _stored(block, op, access)


def _unsigned(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda old, new: old if function(_as_unsigned(old), _as_unsigned(new)) == _as_unsigned(old) else new


def _as_unsigned(value: Any) -> int:
    bits: int = 8 * value.dtype.itemsize
    return int(value) & ((1 << bits) - 1)


_MODES: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "add": lambda old, new: old + new,
    "addf": lambda old, new: old + new,
    "max": max,
    "min": min,
    "umax": _unsigned(max),
    "umin": _unsigned(min),
    "xchg": lambda old, new: new,
}


def _atomic(block: Block, op: Op) -> None:
    dtype = _pointed(op, "pointers")
    value = block.elements(op, "arg")
    wanted, access = _mask(block, op, value.data.shape), _start(block)
    addresses = _addresses(block, op, "pointers", wanted)
    if value.poison is not None:
        raise Unsupported("an atomic with an unspecified operand")
    if op.attributes["mode"] == "addf":
        block.inexact()
    change = _MODES[op.attributes["mode"]]
    old = block.memory.modify(addresses, wanted, dtype, change, value.data, _report(block, op))
    _loaded(block, op, Elements(old, None if wanted.all() else ~wanted), access)


def _swap(wish: Any, new: Any) -> Callable[[Any, Any], Any]:
    """Compares bits, so that a NaN equals itself and the zeros differ."""
    return lambda was, _: new if was.tobytes() == wish.tobytes() else was


def _compare_and_swap(block: Block, op: Op) -> None:
    dtype = _pointed(op, "pointers")
    expected, value = block.elements(op, "cmp"), block.elements(op, "val")
    shape = value.data.shape
    wanted, access = _mask(block, op, shape), _start(block)
    addresses = _addresses(block, op, "pointers", wanted)
    if value.poison is not None or expected.poison is not None:
        raise Unsupported("an atomic with an unspecified operand")
    old = np.array(expected.data)
    for lane in np.ndindex(shape):
        one = np.zeros(shape, bool)
        one[lane] = wanted[lane]
        wish, new = expected.data[lane], value.data[lane]
        swap = _swap(wish, new)
        seen = block.memory.modify(addresses, one, dtype, swap, value.data, _report(block, op))
        if wanted[lane]:
            old[lane] = seen[lane]
    _loaded(block, op, Elements(old), access)


def _atomic_view(block: Block, op: Op) -> None:
    addresses, inside, element, _ = _view_addresses(block, op)
    value, access = block.elements(op, "value"), _start(block)
    if value.poison is not None:
        raise Unsupported("an atomic with an unspecified operand")
    if op.attributes["mode"] == "addf":
        block.inexact()
    change = _MODES[op.attributes["mode"]]
    block.memory.modify(addresses, inside, STORAGE[element], change, value.data, _report(block, op))
    _stored(block, op, access)


def _alloca(block: Block, op: Op) -> None:
    type_ = op.result.type
    assert isinstance(type_, Tile)
    assert isinstance(type_.element, Pointer)
    count = int(op.attributes["num_elem"])
    if count > 1 << 24:
        raise Unsupported(f"an allocation of {count} elements")
    address = block.memory.allocate(f"line {op.line}", STORAGE[type_.element.to], count)
    block.held[op.result] = Elements(np.array(address, np.int64))


def _assert(block: Block, op: Op) -> None:
    if not block.elements(op, "condition").data.all():
        block.finding("assert", op, op.attributes["message"])


def _print(block: Block, op: Op) -> None:
    if op.results:
        _stored(block, op, _start(block))


MEMORY: dict[str, Callable[[Block, Op], None]] = {
    "load_view_tko": _load_view,
    "load_ptr_tko": _load_pointers,
    "store_view_tko": _store_view,
    "store_ptr_tko": _store_pointers,
    "atomic_rmw_tko": _atomic,
    "atomic_cas_tko": _compare_and_swap,
    "atomic_red_view_tko": _atomic_view,
    "alloca": _alloca,
    "assert": _assert,
    "print_tko": _print,
}
