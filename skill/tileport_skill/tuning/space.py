"""What is tried besides the reference's own configurations. Pure: configurations in, configurations out.

Tile sizes are powers of two around the reference's, hints are what both front ends have a word for. What a kernel does
with a field is not known here: whatever makes no sense is refused by the host's own code, by a compiler, or by the
comparison of outputs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from tileport_skill.tuning.candidates import Value

Fields = Mapping[str, Value]
Pair = tuple[dict[str, Value], dict[str, int]]
"""A configuration's fields, and hints to set over those of the host."""

MOST = 64
"""Candidates of one kernel on one shape, the reference's own apart."""
TILE_RANGE = (16, 256)
"""Sides of a tile that are made up; the reference's own may be beyond."""
OCCUPANCIES = (1, 2, 4)
LATENCIES = (2, 3, 4, 6)
HINTS = ("occupancy", "num_ctas")
"""Hints that cuTile Rust 0.2.0 has a word for. It has none for `num_worker_warps`, so a port could not use that."""
_PRODUCT = 20_000
"""Combinations looked at; beyond it fewer values of each field are."""


def ctas_of(arch: str) -> tuple[int, ...]:
    """CTAs in a group that `arch` has hardware for: clusters came with sm_90, and sm_120's matrix units use none."""
    return (1, 2, 4) if arch in ("sm_90", "sm_100", "sm_103") else (1,)


def widened(
    reference: Sequence[Fields],
    hinted: Sequence[str],
    arch: str,
    most: int = MOST,
    launched: Mapping[str, int | None] | None = None,
) -> tuple[Pair, ...]:
    """At most `most` pairs that are not the reference's, the nearest to one of its own first.

    `hinted` are the hints that a configuration's fields decide already; the others are set over the host's. `launched`
    are the hints a kernel has without any of this: what repeats them is left out. Without configurations only hints
    are made up.
    """
    free = [name for name in HINTS if name not in hinted]
    # A field named after a hint that no hint is made of changes nothing: it stays as it is.
    bases = [{**fields, **{n: reference[0][n] for n in free if n in reference[0]}} for fields in reference] or [{}]
    choices = _choices(bases, hinted, arch)
    over = [
        {name: value for name, value in zip(free, values, strict=True) if value is not None}
        for values in itertools.product(*(_hint(n, arch) for n in free))
    ]
    known = {_key(fields, {}) for fields in bases}
    found: dict[object, tuple[tuple[float, int], Pair]] = {}
    for fields in _combined(choices):
        away = min(_distance(fields, base) for base in bases)
        for hints in over:
            key = _key(fields, hints)
            if key in known or key in found or _repeats(hints, launched):
                continue
            found[key] = ((away + len(hints) / 2, len(found)), (dict(fields), dict(hints)))
    return tuple(pair for _, pair in sorted(found.values(), key=lambda one: one[0])[:most])


def _choices(bases: Sequence[Fields], hinted: Sequence[str], arch: str) -> dict[str, list[Value]]:
    """The values of each field that are combined."""
    found: dict[str, list[Value]] = {}
    for name in bases[0]:
        if name in HINTS and name not in hinted:
            found[name] = [bases[0][name]]
            continue
        own = list(dict.fromkeys(base[name] for base in bases if name in base))
        found[name] = [*own, *(value for value in _values(name, own, arch) if value not in own)]
    while math.prod(map(len, found.values())) > _PRODUCT:
        longest = max(found, key=lambda name: len(found[name]))
        found[longest].pop()
    return found


def _values(name: str, own: Sequence[Value], arch: str) -> list[Value]:
    """What is made up for a field, by its name and the reference's own values; the nearest first."""
    lowered = name.lower()
    numbers = [value for value in own if isinstance(value, int) and not isinstance(value, bool)]
    if not numbers:
        return []
    if name in HINTS:
        return list(_hint(name, arch, none=False))
    if "latency" in lowered:
        return list(LATENCIES)
    if lowered.startswith(("tile", "block")) and all(_is_power(number) for number in numbers):
        low, high = max(TILE_RANGE[0], min(numbers) // 2), min(TILE_RANGE[1], 2 * max(numbers))
        sizes: list[Value] = [1 << exponent for exponent in range(3, 14) if low <= 1 << exponent <= high]
        return sorted(sizes, key=lambda size: min(abs(math.log2(float(size or 1) / n)) for n in numbers))
    return []


def _hint(name: str, arch: str, none: bool = True) -> tuple[int | None, ...]:
    values: tuple[int, ...] = OCCUPANCIES if name == "occupancy" else ctas_of(arch)
    return (None, *values) if none else values


def _combined(choices: Mapping[str, Sequence[Value]]) -> Iterator[dict[str, Value]]:
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def _distance(fields: Fields, base: Fields) -> float:
    """Steps from one configuration to another: a doubling or another value is one."""
    return sum(_step(fields[name], base.get(name)) for name in fields)


def _step(one: Value, other: Value) -> float:
    if one == other:
        return 0.0
    if isinstance(one, int) and isinstance(other, int) and one > 0 and other > 0:
        return max(abs(math.log2(one / other)), 0.5)
    return 1.0


def _repeats(hints: Mapping[str, int], launched: Mapping[str, int | None] | None) -> bool:
    return launched is not None and all(launched.get(name) == value for name, value in hints.items())


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _key(fields: Fields, hints: Mapping[str, int]) -> tuple[object, ...]:
    return (*sorted(fields.items()), "|", *sorted(hints.items()))
