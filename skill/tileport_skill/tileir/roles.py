"""What an entry's arguments are for, read off its code: which of them make up an array."""

from __future__ import annotations

from dataclasses import dataclass, field

from tileport_skill.tileir.facts import Fact, facts_of
from tileport_skill.tileir.records import Entry, Op, Value, walk
from tileport_skill.tileir.types import (
    GatherScatterView,
    PartitionView,
    Pointer,
    StridedView,
    TensorView,
    Tile,
)

Dim = int | None
"""A size or stride: the place of an argument, or None where it is not simply an argument."""


@dataclass(slots=True)
class ArrayRole:
    """An array an entry takes: the pointer argument and, per dimension, what gives its size and stride."""

    pointer: int
    sizes: list[tuple[Dim, int | None]] = field(default_factory=list)
    """Per dimension the argument, and the number where it is known."""
    strides: list[tuple[Dim, int | None]] = field(default_factory=list)
    tiles: list[int] = field(default_factory=list)
    """Per dimension the size of the tiles it is cut into; 1 if it is not."""


@dataclass(slots=True)
class Roles:
    """All of an entry's arguments."""

    arrays: list[ArrayRole]
    facts: dict[int, list[Fact]]
    """What the kernel promises about each argument."""


def roles_of(entry: Entry) -> Roles:
    """By the tensor views made of a pointer; failing those, by cuTile's order: pointer, sizes, strides."""
    reader = _Reader(entry)
    arrays: dict[int, ArrayRole] = {}
    for op in walk(entry.body):
        if op.name == "make_tensor_view":
            pointer = reader.root(op.operand("base"))
            if pointer is not None:
                arrays.setdefault(pointer, reader.array(op, pointer))
                reader.views[op.result] = arrays[pointer]
        elif op.name.startswith("make_") and op.name.endswith("_view"):
            reader.cut(op)
    for place, argument in enumerate(entry.arguments):
        if _is_pointer(argument) and place not in arrays:
            arrays[place] = _by_convention(entry, place)
    return Roles([arrays[place] for place in sorted(arrays)], reader.facts)


class _Reader:
    def __init__(self, entry: Entry) -> None:
        self.places = {argument: place for place, argument in enumerate(entry.arguments)}
        self.facts: dict[int, list[Fact]] = {}
        self.views: dict[Value, ArrayRole] = {}
        self.constants: dict[Value, int] = {}
        for op in walk(entry.body):
            if op.name == "assume" and (place := self.root(op.operand("value"))) is not None:
                self.places[op.result] = place
                self.facts.setdefault(place, []).extend(facts_of(op.attributes["predicate"]))
            elif op.name == "constant":
                text = op.attributes["value"].partition(": ")[2]
                if text.lstrip("-").isdigit():
                    self.constants[op.result] = int(text)

    def root(self, value: Value) -> int | None:
        return self.places.get(value)

    def array(self, op: Op, pointer: int) -> ArrayRole:
        type_ = op.result.type
        assert isinstance(type_, TensorView)
        role = ArrayRole(pointer)
        for known, name, into in (
            (type_.shape, "dynamicShape", role.sizes),
            (type_.strides, "dynamicStrides", role.strides),
        ):
            given = iter(op.operands[name])
            for number in known:
                if number is not None:
                    into.append((None, number))
                else:
                    value = next(given)
                    into.append((self.root(value), self.constants.get(value)))
        role.tiles = [1] * len(role.sizes)
        return role

    def cut(self, op: Op) -> None:
        role = self.views.get(op.operand("tensor_view"))
        type_ = op.result.type
        if role is None or not isinstance(type_, PartitionView | StridedView | GatherScatterView):
            return
        dim_map = range(len(type_.tile)) if isinstance(type_, GatherScatterView) else type_.dim_map
        for size, dim in zip(type_.tile, dim_map, strict=True):
            role.tiles[dim] = max(role.tiles[dim], size)


def _is_pointer(value: Value) -> bool:
    return isinstance(value.type, Tile) and isinstance(value.type.element, Pointer)


def _by_convention(entry: Entry, pointer: int) -> ArrayRole:
    count = 0
    for argument in entry.arguments[pointer + 1 :]:
        if not isinstance(argument.type, Tile) or argument.type.element not in ("i32", "i64"):
            break
        count += 1
    rank = min(count // 2, 5)
    first = pointer + 1
    counted = [op.result.type.size for op in walk(entry.body) if op.name == "iota" and isinstance(op.result.type, Tile)]
    return ArrayRole(
        pointer,
        [(first + d, None) for d in range(rank)],
        [(first + rank + d, None) for d in range(rank)],
        [*[1] * (rank - 1), *[min(max(counted, default=1), 256)] * (rank > 0)],
    )
