"""Captured launches in the words of the interpreter, so that a port is run only on what its host launches."""

from __future__ import annotations

from collections.abc import Iterable

from tileport_skill.capture.records import Array, Constant, Launch, Specialisation, TensorArgument, ValueArgument
from tileport_skill.emit.launcher import divisor_of
from tileport_skill.tileir.facts import Fact
from tileport_skill.tileir.launch import ArrayShape, Grid, LaunchShape

MOST = 8
"""Launches of one specialisation that are tried, the smallest first."""


def shapes_of(specialisation: Specialisation, launches: Iterable[Launch]) -> tuple[LaunchShape, ...]:
    """The different launches of `specialisation`; empty if it takes arguments the interpreter has no words for."""
    found = {}
    for launch in launches:
        if launch.specialisation == specialisation.id and (shape := _shape(specialisation, launch)) is not None:
            found[str(shape)] = shape
    return tuple(sorted(found.values(), key=_elements)[:MOST])


def kept_by_launcher(specialisation: Specialisation, launch: Launch) -> dict[int, tuple[Fact, ...]]:
    """What is always so of the integers among the entry's arguments, by place.

    cuTile Rust's launcher derives divisors of all of them, compiles a kernel for these, and launches it for no
    arguments without them; sizes and strides of arrays are never negative.
    """
    shape = _shape(specialisation, launch)
    kept: dict[int, tuple[Fact, ...]] = {}
    place = 0
    for given in shape.arguments if shape is not None else ():
        if isinstance(given, ArrayShape):
            for value in (*given.shape, *given.strides):
                place += 1
                kept[place] = (Fact("multiple of", divisor_of(value)), Fact("at least", 0))
        elif isinstance(given, int):
            kept[place] = (Fact("multiple of", divisor_of(given)),)
        place += 1
    return kept


def fixed_by_reference(specialisation: Specialisation) -> dict[int, int]:
    """Sizes and strides that the reference was compiled for as numbers, by place among the entry's arguments.

    Every launch of the specialisation has them; a port that is told them when it is launched computes the same.
    """
    fixed: dict[int, int] = {}
    place = 0
    for parameter in specialisation.parameters:
        if isinstance(parameter, Constant):
            continue
        if not isinstance(parameter, Array):
            place += 1
            continue
        for value in (*parameter.shape_constant, *parameter.stride_constant):
            place += 1
            if value is not None:
                fixed[place] = value
        place += 1
    return fixed


def _elements(shape: LaunchShape) -> int:
    return sum(argument.end for argument in shape.arguments if isinstance(argument, ArrayShape))


def _shape(specialisation: Specialisation, launch: Launch) -> LaunchShape | None:
    arguments: list[ArrayShape | int | float] = []
    for parameter, argument in zip(specialisation.parameters, launch.arguments, strict=False):
        if isinstance(parameter, Constant):
            continue
        if isinstance(argument, TensorArgument):
            shape, strides = argument.shape, argument.strides
            arguments.append(ArrayShape(shape, strides, argument.storage, argument.offset))
        elif isinstance(argument, ValueArgument) and argument.type in ("int", "float", "bool"):
            arguments.append(_number(argument))
        else:
            return None
    x, y, z = (*launch.grid, 1, 1, 1)[:3]
    grid: Grid = (x, y, z)
    return LaunchShape(grid, tuple(arguments))


def _number(argument: ValueArgument) -> int | float:
    if argument.type == "float":
        return float(argument.text)
    return int(argument.text == "True") if argument.type == "bool" else int(argument.text)
