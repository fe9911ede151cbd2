"""Specialisations that were never captured, compiled all the same.

So constants that vary together come apart, and an entry is known to be right for more than what the tests launch.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from tileport_skill.capture.records import Array, Constant, Specialisation

MOST = 48
"""How many are made up for a kernel at most; each takes some hundredths of a second to compile."""
BASES = 3


def made_up(specialisations: Sequence[Specialisation]) -> list[Specialisation]:
    """Up to `MOST` more, all of the kernel that `specialisations` are of."""
    known = {_key(one) for one in specialisations}
    found: dict[object, Specialisation] = {}
    for base in _bases(specialisations):
        for changes in _changes(base, specialisations):
            one = _with(base, changes)
            if _key(one) not in known and len(found) < MOST:
                found.setdefault(_key(one), one)
    return list(found.values())


def _bases(specialisations: Sequence[Specialisation]) -> list[Specialisation]:
    """One for each combination of element types."""
    seen: dict[object, Specialisation] = {}
    for one in specialisations:
        seen.setdefault(tuple((p.dtype, p.ndim) for p in one.parameters if isinstance(p, Array)), one)
    return list(seen.values())[:BASES]


def _changes(base: Specialisation, pool: Sequence[Specialisation]) -> Iterator[dict[str, str]]:
    """Each whole constant by itself, then two of them together, each also as it was captured elsewhere."""
    constants = [p for p in base.parameters if isinstance(p, Constant) and p.type == "int"]
    for one in constants:
        for text in (*_near(int(one.text)), *_captured(one.name, pool)):
            yield {one.name: text}
    for one, other in itertools.combinations(constants, 2):
        for first, second in zip(_near(int(one.text)), _near(int(other.text)), strict=False):
            yield {one.name: first, other.name: second}


def _near(value: int) -> tuple[str, ...]:
    """Of a power of two the next ones: it may be the size of a tile. Of any other number, numbers like it."""
    if value > 1 and value & (value - 1) == 0:
        return str(value * 2), str(value // 2)
    return (str(value * 2), str(value + 1)) if value > 0 else (str(value + 1),)


def _captured(name: str, pool: Sequence[Specialisation]) -> list[str]:
    found = {p.text for one in pool for p in one.parameters if isinstance(p, Constant) and p.name == name}
    return sorted(found)[:4]


def _with(base: Specialisation, changes: dict[str, str]) -> Specialisation:
    parameters = tuple(
        dataclasses.replace(p, text=changes[p.name]) if isinstance(p, Constant) and p.name in changes else p
        for p in base.parameters
    )
    name = " ".join(f"{name}={text}" for name, text in changes.items())
    return dataclasses.replace(base, id=f"{base.id} with {name}", parameters=parameters, ir=None, refused=None)


def _key(one: Specialisation) -> str:
    return repr(one.parameters)
