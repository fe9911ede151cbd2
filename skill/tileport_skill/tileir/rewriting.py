"""What a rewrite rule is, and what it may ask of the key it looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tileport_skill.tileir.numbering import Key, Numbering
from tileport_skill.tileir.types import Tile

Rewrite = Callable[[Numbering, Key], int | Key | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One equality, used from left to right."""

    name: str
    rewrite: Rewrite
    over_reals: bool = False
    while_true: str = ""
    """What must be so for it to hold, if it does not always."""


@dataclass(slots=True)
class Closure:
    """Applies rules wherever a key is made, and remembers which it used."""

    rules: tuple[Rule, ...]
    used: dict[str, Rule] = field(default_factory=dict)

    def __call__(self, numbering: Numbering, key: Key) -> int | Key | None:
        if len(key) < 4 or not isinstance(key[2], tuple):
            return None  # not an operation with operands
        for rule in self.rules:
            simpler = rule.rewrite(numbering, key)
            if simpler is not None and simpler != key:
                self.used[rule.name] = rule
                return simpler
        return None


def plain(key: Key) -> bool:
    """An operation without attributes, such as an addition that may wrap."""
    return key[1] == ()


def operands(key: Key) -> tuple[int, ...]:
    return tuple(part for part in key[3:] if isinstance(part, int))


def tile_type(key: Key) -> Tile | None:
    types = key[2]
    return types[0] if isinstance(types, tuple) and len(types) == 1 and isinstance(types[0], Tile) else None


def attributes(key: Key) -> dict[str, str]:
    """By name; none for keys of loops and branches, which hold other things in that place."""
    found = key[1]
    if not isinstance(found, tuple) or not all(isinstance(one, tuple) and len(one) == 2 for one in found):
        return {}
    return dict(found)


def made_by(numbering: Numbering, number: int, name: str) -> Key | None:
    key = numbering.keys[number]
    return key if key[0] == name else None


def type_of(numbering: Numbering, number: int) -> object:
    """The type of the value `number`, where its key tells."""
    key = numbering.keys[number]
    if key[0] in ("constant", "argument", "result", "carried", "colour", "index", "operand"):
        return key[-1]
    return tile_type(key) if len(key) > 2 else None
