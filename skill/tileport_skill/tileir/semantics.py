"""What each pure operation computes, found by its name in `PURE`: here those that move elements about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tileport_skill.tileir.elements import STORAGE, Array, read_constant
from tileport_skill.tileir.float_ops import FLOAT
from tileport_skill.tileir.integer_ops import INTEGER
from tileport_skill.tileir.machine import Machine, Meaning, Unsupported, element_of, tile_of
from tileport_skill.tileir.records import Op
from tileport_skill.tileir.tile_value import Elements, either
from tileport_skill.tileir.types import Pointer


def _select(machine: Machine, op: Op) -> Elements:
    c = machine.elements(op, "cond")
    a, b = machine.elements(op, "val_if_true"), machine.elements(op, "val_if_false")
    data = np.where(c.data, a.data, b.data)
    poison = None
    if a.poison is not None or b.poison is not None:
        none = np.zeros(data.shape, bool)
        poison = np.where(c.data, none if a.poison is None else a.poison, none if b.poison is None else b.poison)
    return Elements(data, either(poison, c.poison))


def _bitcast(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "source")
    dtype = STORAGE[element_of(op)]
    return Elements(np.ascontiguousarray(source.data).view(dtype).reshape(source.data.shape), source.poison)


def _repack(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "source")
    if source.data.dtype == np.bool_ or source.poison is not None:
        raise Unsupported(f"{op.name} of bits or of unspecified elements")
    return Elements(np.ascontiguousarray(source.data).view(STORAGE[element_of(op)]))


def _shaped(function: Callable[[Op, Array, tuple[int, ...]], Array]) -> Meaning:
    def run(machine: Machine, op: Op) -> Elements:
        source = machine.elements(op, "source")
        shape = tile_of(op).shape
        poison = None if source.poison is None else function(op, source.poison, shape)
        return Elements(function(op, source.data, shape), poison)

    return run


def _permuted(op: Op, data: Array, shape: tuple[int, ...]) -> Array:
    return np.transpose(data, [int(d) for d in op.attributes["permutation"].split(", ")])


def _extract(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "source")
    shape = tile_of(op).shape
    where = []
    for value, size, full in zip(
        [int(i.data) for i in machine.many(op, "indices")], shape, source.data.shape, strict=True
    ):
        if not 0 <= value < full // size:
            machine.finding("extract", op, f"slice {value} of {full // size}")
            value = 0
        where.append(slice(value * size, (value + 1) * size))
    poison = None if source.poison is None else source.poison[tuple(where)]
    return Elements(source.data[tuple(where)], poison)


def _cat(machine: Machine, op: Op) -> Elements:
    a, b = machine.elements(op, "lhs"), machine.elements(op, "rhs")
    axis = int(op.attributes["dim"])
    poison = None
    if a.poison is not None or b.poison is not None:
        masks = [np.zeros(x.data.shape, bool) if x.poison is None else x.poison for x in (a, b)]
        poison = np.concatenate(masks, axis)
    return Elements(np.concatenate([a.data, b.data], axis), poison)


def _iota(machine: Machine, op: Op) -> Elements:
    return Elements(np.arange(tile_of(op).size, dtype=STORAGE[element_of(op)]))


def _constant(machine: Machine, op: Op) -> Elements:
    return Elements(read_constant(op.attributes["value"].partition(": ")[2], element_of(op), tile_of(op).shape))


def _offset(machine: Machine, op: Op) -> Elements:
    pointer, offset = machine.elements(op, "ptr"), machine.elements(op, "offset")
    element = tile_of(op).element
    if not isinstance(element, Pointer) or element.to not in STORAGE:
        raise Unsupported(f"offset of {element}")
    size = STORAGE[element.to].itemsize
    return Elements(pointer.data + offset.data.astype(np.int64) * size, either(pointer.poison, offset.poison))


def _same_bits(machine: Machine, op: Op) -> Elements:
    return machine.elements(op, "source")


PURE: dict[str, Meaning] = {
    **FLOAT,
    **INTEGER,
    "select": _select,
    "bitcast": _bitcast,
    "pack": _repack,
    "unpack": _repack,
    "reshape": _shaped(lambda op, data, shape: np.reshape(data, shape)),
    "broadcast": _shaped(lambda op, data, shape: np.broadcast_to(data, shape)),
    "permute": _shaped(_permuted),
    "extract": _extract,
    "cat": _cat,
    "iota": _iota,
    "constant": _constant,
    "offset": _offset,
    "ptr_to_int": _same_bits,
    "int_to_ptr": _same_bits,
    "ptr_to_ptr": _same_bits,
}
