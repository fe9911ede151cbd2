"""An argument that the reference accepts and the port does not, where the port promises more about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tileport_skill.tileir.dataflow import Promise
from tileport_skill.tileir.differences import Side, uncovered
from tileport_skill.tileir.elements import STORAGE
from tileport_skill.tileir.facts import Fact, constant_has
from tileport_skill.tileir.implied import implied, sizes_of
from tileport_skill.tileir.launch import ArrayShape, LaunchShape
from tileport_skill.tileir.numbering import Numbering
from tileport_skill.tileir.records import Entry
from tileport_skill.tileir.types import Pointer, Tile
from tileport_skill.tileir.verdicts import Witness

Kept = Mapping[int, tuple[Fact, ...]]
"""Facts by place of the entry argument."""

_CANDIDATES = [*(2**n for n in range(13)), *(3 * 2**n for n in range(10)), 0, -1, -16, 2**31 - 16]
_ALIGNMENT = 512
"""Torch's allocations begin at multiples of this."""


def is_kept(promise: Promise, numbering: Numbering, kept: Kept) -> bool:
    """Whether the promise is about an argument, and the host checks it, or about a number that has what it says."""
    key = numbering.keys[promise.subject]
    if key[0] == "constant":
        return str(key[1]).lstrip("-").isdigit() and constant_has(int(str(key[1])), promise.fact)
    if key[0] != "argument" or not isinstance(key[1], int):
        return False
    return any(fact.implies(promise.fact) for fact in kept.get(key[1], ()))


def promise_witness(
    a: Side, b: Side, numbering: Numbering, launches: Sequence[LaunchShape] = (), kept: Kept | None = None
) -> Witness | None:
    """Only for promises about entry arguments themselves, where a value is easily named.

    With `launches`, only the values those give count.
    """
    sizes = sizes_of(numbering, a.graph.ops)
    for promise in uncovered(b, a, numbering, anywhere=False):
        key = numbering.keys[promise.subject]
        if key[0] != "argument" or not isinstance(key[1], int) or promise.fact.number is None:
            continue
        if is_kept(promise, numbering, kept or {}):
            continue
        accepted = [other.fact for other in a.graph.promises if other.subject == promise.subject]
        for value in _launched(a.entry, key[1], launches) if launches else _CANDIDATES:
            if constant_has(value, promise.fact) or not all(constant_has(value, fact) for fact in accepted):
                continue
            if value < 0 and implied(numbering, promise.subject, Fact("at least", 0), sizes):
                continue
            name = a.entry.arguments[key[1]].name
            return Witness(
                kind="promise",
                inputs=f"{name} = {value}",
                where=name,
                a="accepts it",
                b=f"has no meaning for it: it takes for granted that {name} is {promise.fact}",
            )
    return None


def _launched(entry: Entry, place: int, launches: Sequence[LaunchShape]) -> Iterator[int]:
    """What the launches give for the argument at `place`; for a pointer an address as aligned as the real one."""
    for launch in launches:
        values: list[int | float] = []
        for given in launch.arguments:
            if isinstance(given, ArrayShape):
                values += [_address(entry, len(values), given), *given.shape, *given.strides]
            else:
                values.append(given)
        if place < len(values) and isinstance(value := values[place], int):
            yield value


def _address(entry: Entry, place: int, array: ArrayShape) -> int:
    type_ = entry.arguments[place].type if place < len(entry.arguments) else None
    element = type_.element if isinstance(type_, Tile) else None
    size = STORAGE[element.to].itemsize if isinstance(element, Pointer) and element.to in STORAGE else 1
    return _ALIGNMENT + array.offset * size
