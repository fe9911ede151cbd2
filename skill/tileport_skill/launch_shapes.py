"""Captured launches in the words of the interpreter, so that a port is run only on what its host launches."""

from __future__ import annotations

from collections.abc import Iterable

from tileport_skill.capture.records import Constant, Launch, Specialisation, TensorArgument, ValueArgument
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
    """What cuTile Rust's launcher derives of the integers among the entry's arguments, by place.

    It compiles a kernel for these facts and launches it for no arguments without them.
    """
    shape = _shape(specialisation, launch)
    values: list[int | float | None] = []
    for given in shape.arguments if shape is not None else ():
        values += [None, *given.shape, *given.strides] if isinstance(given, ArrayShape) else [given]
    return {
        place: (Fact("multiple of", divisor_of(value)),) for place, value in enumerate(values) if isinstance(value, int)
    }


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
