"""What a rule can ask of a call: sizes, types and flags of its arguments, read off a capture. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tileport_skill.capture.records import Argument, Entry, Launch, ListArgument, TensorArgument, ValueArgument
from tileport_skill.tuning.classes import Path

_SIZE = re.compile(r"size\((\d+)\)")


def features_of(launch: Launch, varying: frozenset[int]) -> dict[Path, int | str]:
    """What a wrapper sees in a launch's arguments, but for those that candidates themselves decide."""
    found: dict[Path, int | str] = {}
    for position, argument in enumerate(launch.arguments):
        if position not in varying:
            found.update(_of(position, argument))
    return found


def features_of_call(entry: Entry) -> dict[Path, int | str]:
    """The same of an operator's own function, by the names of its parameters."""
    found: dict[Path, int | str] = {}
    for name, text in entry.features:
        parameter, _, asked = name.partition(".")
        if axis := _SIZE.fullmatch(asked):
            found[parameter, int(axis[1])] = int(text)
        elif asked == "dtype":
            found[parameter, "dtype"] = text
    return found


def _of(position: int, argument: Argument) -> Iterator[tuple[Path, int | str]]:
    match argument:
        case TensorArgument():
            yield (position, "dtype"), argument.dtype
            yield from (((position, axis), size) for axis, size in enumerate(argument.shape))
        case ListArgument(items=items):
            yield (position, "len"), len(items)
            if items:
                yield from _of(position, items[0])
        case ValueArgument(type="int", text=text):
            yield (position, None), int(text)
        case ValueArgument(type="bool" | "str", text=text):
            yield (position, None), text.strip("'\"")
