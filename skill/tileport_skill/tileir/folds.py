"""`reduce` and `scan`: a combining region run over whole slices at once."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tileport_skill.tileir.elements import STORAGE, Array, read_constant
from tileport_skill.tileir.machine import Machine, Unsupported
from tileport_skill.tileir.records import Op, Region, Value
from tileport_skill.tileir.semantics import PURE
from tileport_skill.tileir.tile_value import Elements, Held
from tileport_skill.tileir.types import Tile

_EXACT_IN_ANY_ORDER = frozenset({"maxf", "minf", "maxi", "mini", "addi", "muli", "andi", "ori", "xori"})


class Folding(Machine, Protocol):
    """A block, with its values."""

    held: dict[Value, Held]


def fold(block: Folding, op: Op) -> None:
    """Sets the results of a `reduce` or `scan`. The order of a reduce is open; here it is a tree in order."""
    axis = int(op.attributes["dim"])
    operands = block.many(op, "operands")
    identities = _identities(op)
    slices = [Elements(np.moveaxis(x.data, axis, 0), _moved(x.poison, axis)) for x in operands]
    if not _order_is_free(op, slices):
        block.inexact()
    if op.name == "scan":
        results = _scan(block, op, slices, identities)
        results = [Elements(np.moveaxis(x.data, 0, axis), _back(x.poison, axis)) for x in results]
    else:
        results = _reduce(block, op, slices, identities)
    for result, value in zip(op.results, results, strict=True):
        assert isinstance(result.type, Tile)
        poison = None if value.poison is None else np.broadcast_to(value.poison, result.type.shape)
        block.held[result] = Elements(np.broadcast_to(value.data, result.type.shape), poison)


def _moved(poison: Array | None, axis: int) -> Array | None:
    return None if poison is None else np.moveaxis(poison, axis, 0)


def _back(poison: Array | None, axis: int) -> Array | None:
    return None if poison is None else np.moveaxis(poison, 0, axis)


def _identities(op: Op) -> list[Elements]:
    found = []
    for text in op.attributes["identities"].split(", "):
        value, _, element = text.partition(" : ")
        if element not in STORAGE:
            raise Unsupported(f"an identity of type {element}")
        found.append(Elements(read_constant(value, element, ())))
    return found


def _combine(block: Folding, region: Region, new: list[Elements], old: list[Elements]) -> list[Elements]:
    """One step: each argument pair is the element and what was accumulated before it."""
    for index, (element, accumulated) in enumerate(zip(new, old, strict=True)):
        block.held[region.arguments[2 * index]] = element
        block.held[region.arguments[2 * index + 1]] = accumulated
    for op in region.ops[:-1]:
        if op.name == "assume":
            block.held[op.result] = block.held[op.operand("value")]
        elif op.name in PURE:
            block.held[op.result] = PURE[op.name](block, op)
        else:
            raise Unsupported(f"the operation {op.name} in a combining region (line {op.line})")
    last = region.ops[-1]
    return block.many(last, "operands")


def _at(values: list[Elements], index: slice | int) -> list[Elements]:
    return [Elements(v.data[index], None if v.poison is None else v.poison[index]) for v in values]


def _reduce(block: Folding, op: Op, values: list[Elements], identities: list[Elements]) -> list[Elements]:
    while values[0].data.shape[0] > 1:
        values = _combine(block, op.regions[0], _at(values, slice(1, None, 2)), _at(values, slice(0, None, 2)))
    return _combine(block, op.regions[0], _at(values, 0), identities)


def _scan(block: Folding, op: Op, values: list[Elements], identities: list[Elements]) -> list[Elements]:
    count = values[0].data.shape[0]
    order = range(count - 1, -1, -1) if op.attributes["reverse"] == "true" else range(count)
    out = [np.empty_like(v.data) for v in values]
    unsure = [np.zeros(v.data.shape, bool) for v in values]
    running = identities
    for place in order:
        running = _combine(block, op.regions[0], _at(values, place), running)
        for k, value in enumerate(running):
            out[k][place] = value.data
            if value.poison is not None:
                unsure[k][place] = value.poison
    return [Elements(o, u if u.any() else None) for o, u in zip(out, unsure, strict=True)]


def _order_is_free(op: Op, values: list[Elements]) -> bool:
    """Whether the result cannot depend on the order: for sums, if every partial sum is exact."""
    body = op.regions[0].ops[:-1]
    if all(inner.name in _EXACT_IN_ANY_ORDER or inner.name in ("cmpi", "cmpf", "select") for inner in body):
        return True
    if len(body) != 1 or body[0].name != "addf" or values[0].data.dtype == np.float64:
        return False
    half = values[0].data.dtype.itemsize == 2
    digits = (11 if values[0].data.dtype == np.float16 else 8) if half else 24
    return exact_sums(values[0].data.astype(np.float64), digits)


def exact_sums(data: Array, digits: int) -> bool:
    """Whether sums along the first axis are exact in any order: one number among zeros, or all on a grid."""
    if not np.isfinite(data).all():
        return False
    if (np.count_nonzero(data, axis=0) <= 1).all():
        return True
    for step in (2.0**6, 2.0**149):  # quarters and their products; denormals
        grid = data * step
        if (grid == np.rint(grid)).all() and np.abs(grid).sum(axis=0).max(initial=0) < 2.0**digits:
            return True
    return False
