"""What may differ between the specialisations that share one entry: sizes of types, element types, constants.

Two kernels of one structure are the same but for these. Each slot is filled with itself where it is the same
everywhere, else with a generic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tileport_skill.draft.from_ir.constants_read import constant_value
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Entry, Op, Region, Value, walk
from tileport_skill.tileir.types import (
    GatherScatterView,
    PartitionView,
    Pointer,
    StridedView,
    TensorView,
    Tile,
    Type,
)

ELEMENTS = {"i1": "bool", "f8E4M3FN": "f8e4m3fn", "f8E5M2": "f8e5m2", "f8E8M0FNU": "f8e8m0fnu", "f4E2M1FN": "f4e2m1fn"}
"""Tile IR's names of element types that are not Rust's."""
INTEGERS = ("i8", "i16", "i32", "i64")

Kind = Literal["size", "element", "integer", "float"]


@dataclass(frozen=True, slots=True)
class Key:
    """One slot: of the value with that number, in the order of the text."""

    kind: Kind
    value: int
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Generic:
    """What fills a slot that differs."""

    name: str


Content = int | float | str
Filling = Content | Generic
Fillings = Mapping[Key, Filling]


def numbered(entry: Entry) -> dict[Value, int]:
    """Every value's number, in the order of the text."""
    values = [*entry.arguments]
    for op in walk(entry.body):
        values += op.results
        for region in op.regions:
            values += region.arguments
    return {value: number for number, value in enumerate(values)}


def slots_of(entry: Entry) -> dict[Key, Content]:
    """Every slot of a kernel with what stands there."""
    numbers = numbered(entry)
    found: dict[Key, Content] = {}
    for value, number in numbers.items():
        shape, element = shape_of(value.type)
        for axis, size in enumerate(shape):
            found[Key("size", number, axis)] = size
        if element is not None and element != "i1" and element not in INTEGERS:
            found[Key("element", number)] = ELEMENTS.get(element, element)
    for op in walk(entry.body):
        if op.name == "constant":
            content = constant_value(op)
            if not isinstance(content, bool):
                kind: Kind = "integer" if isinstance(content, int) else "float"
                found[Key(kind, numbers[op.result])] = content
    return found


def shape_of(type_: Type) -> tuple[tuple[int, ...], str | None]:
    """The tile of a value's type, and its element type: of a pointer what it points to."""
    match type_:
        case Tile(shape=shape, element=Pointer(to=to)):
            return shape, to
        case Tile(shape=shape, element=str(element)):
            return shape, element
        case TensorView(element=element):
            return (), element
        case PartitionView(tile=tile, tensor=tensor):
            return tile, tensor.element
        case StridedView() | GatherScatterView():
            raise Untranslatable(f"a view of type {type_}")
    return (), None


def structure(entry: Entry, views: frozenset[Op]) -> object:
    """What two kernels must have in common to be one entry: everything but the slots.

    `views` are views of whole arrays: which of their strides are known is the launcher's business.
    """
    numbers = numbered(entry)
    return (
        tuple(_kind(argument.type) for argument in entry.arguments),
        tuple(_region(entry.body, numbers, views)),
    )


def _region(region: Region, numbers: Mapping[Value, int], views: frozenset[Op]) -> Iterator[object]:
    for op in region.ops:
        if op in views:
            yield op.name, numbers[op.operand("base")]
            continue
        yield (
            op.name,
            tuple(sorted(_attributes(op))),
            tuple((name, tuple(numbers[value] for value in values)) for name, values in op.operands.items()),
            tuple(_kind(result.type) for result in op.results),
            tuple(tuple(_region(inner, numbers, views)) for inner in op.regions),
        )


def _attributes(op: Op) -> Iterator[tuple[str, str]]:
    for name, text in op.attributes.items():
        if op.name == "constant" and name == "value":
            element = text.partition(": ")[0]
            yield name, text if element == "i1" else "integer" if element in INTEGERS else "float"
        elif name == "identities":
            yield name, ""  # they follow from the operation folded
        elif name in ("dynamicShape", "dynamicStrides"):
            yield name, ", ".join("?" if item.startswith("%") else item for item in text.split(", "))
        elif name == "predicate" and text.startswith("div_by"):
            yield name, "div_by"
        else:
            yield name, text


def _kind(type_: Type) -> object:
    match type_:
        case Tile(shape=shape, element=Pointer()):
            return ("pointer", len(shape))
        case Tile(shape=shape, element=str(element)):
            return ("tile", len(shape), element if element == "i1" or element in INTEGERS else "float")
        case TensorView(shape=shape, strides=strides):
            return ("tensor", shape, strides)
        case PartitionView(tile=tile, padding=padding, tensor=tensor, dim_map=dim_map):
            return ("partition", len(tile), padding, len(tensor.shape), dim_map)
    return (type(type_).__name__,)
