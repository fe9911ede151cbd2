"""What an operation's meaning may ask of the block that runs it, and the checks all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tileport_skill.tileir.elements import STORAGE
from tileport_skill.tileir.records import Op
from tileport_skill.tileir.tile_value import Elements
from tileport_skill.tileir.types import Pointer, Tile


class Unsupported(Exception):
    """The interpreter does not know this operation or type; its text names it."""


class Machine(Protocol):
    """What an operation may ask of the block that runs it."""

    def elements(self, op: Op, name: str) -> Elements: ...

    def many(self, op: Op, name: str) -> list[Elements]: ...

    def finding(self, kind: str, op: Op, text: str) -> None: ...

    def inexact(self) -> None: ...


Meaning = Callable[[Machine, Op], Elements]


def tile_of(op: Op) -> Tile:
    """The type of the one result, which is a tile."""
    type_ = op.results[0].type
    if not isinstance(type_, Tile):
        raise Unsupported(f"{op.name} with a result of type {type_}")
    return type_


def element_of(op: Op) -> str:
    element = tile_of(op).element
    if isinstance(element, Pointer):
        raise Unsupported(f"{op.name} on pointers")
    if element not in STORAGE:
        raise Unsupported(f"the element type {element}")
    return element
