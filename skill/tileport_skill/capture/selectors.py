"""What selects a kernel: a predicate over an operator's arguments, learnt from its captured calls.

A guess from examples, never from the source: it says from how many calls it was learnt, and is not made where no
short predicate separates the calls that launch a kernel from those that do not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tileport_skill.capture.records import FORBID, Capture, KernelKey

ARCH = "arch"
CALLS_FOR_TWO, CALLS_FOR_THREE = 6, 12
"""Calls from which two or three comparisons may be learnt; from fewer they would say more about chance."""
MOST_IN_PAIRS, MOST_IN_THREES = 300, 90
"""Single comparisons that are tried together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """When one function of the operator launches a kernel, as far as its captured calls tell."""

    function: str
    predicate: str | None
    """`x.size(1) <= 4096 and use_tma == False`, `always`, or `None` where nothing short separates the calls."""
    launching: int
    """Distinct calls of the function that launch the kernel, untuned."""
    others: int
    """Distinct calls of the function that launch other kernels only."""
    __pydantic_config__: ClassVar = FORBID

    def __str__(self) -> str:
        if self.predicate is None:
            return f"{self.function}: no short predicate separates ({self.launching} calls of {self.total})"
        return f"{self.function}: {self.predicate} (learnt from {self.total} calls)"

    @property
    def total(self) -> int:
        return self.launching + self.others


Atom = tuple[str, int]
"""A comparison, and the calls it holds for as bits."""
Call = dict[str, str]
"""Features of one call: `x.dtype` is `float32`."""


def selectors_of(kernel: KernelKey, captures: Sequence[Capture]) -> tuple[Selector, ...]:
    """One for each function that launches `kernel`."""
    found = []
    for function, calls in _calls(captures).items():
        having = [call for call, kernels in calls if kernel in kernels]
        lacking = [call for call, kernels in calls if kernel not in kernels]
        if having:
            predicate = separating(having, lacking)
            found.append(Selector(function=function, predicate=predicate, launching=len(having), others=len(lacking)))
    return tuple(found)


def _calls(captures: Sequence[Capture]) -> dict[str, list[tuple[Call, frozenset[KernelKey]]]]:
    """Distinct calls by function, each with the kernels it launched."""
    found: dict[str, dict[tuple[tuple[str, str], ...], set[KernelKey]]] = {}
    for captured in captures:
        keys = {s.id: s.key for s in captured.specialisations}
        by_call: dict[tuple[str, int], tuple[int, set[KernelKey]]] = {}
        for launch in captured.launches:
            if launch.purpose == "launch" and launch.entry is not None:
                entry, kernels = by_call.setdefault((launch.test, launch.call), (launch.entry, set()))
                kernels.add(keys[launch.specialisation])
        for entry, kernels in by_call.values():
            known = captured.entries[entry]
            features = ((ARCH, captured.arch), *known.features)
            found.setdefault(known.function, {}).setdefault(features, set()).update(kernels)
    return {
        function: [(dict(features), frozenset(kernels)) for features, kernels in calls.items()]
        for function, calls in found.items()
    }


def separating(having: Sequence[Call], lacking: Sequence[Call]) -> str | None:
    """The simplest predicate that holds for all of `having` and none of `lacking`: up to three comparisons."""
    if not lacking:
        return "always"
    wanted = _bits([True] * len(having) + [False] * len(lacking))
    atoms = list(_atoms([*having, *lacking]))
    calls = len(having) + len(lacking)
    return (
        next((text for text, holds in atoms if holds == wanted), None)
        or (_of_two(atoms[:MOST_IN_PAIRS], wanted) if calls >= CALLS_FOR_TWO else None)
        or (_of_three(atoms[:MOST_IN_THREES], wanted) if calls >= CALLS_FOR_THREE else None)
    )


def _of_two(atoms: Sequence[Atom], wanted: int) -> str | None:
    for (a, x), (b, y) in itertools.combinations(atoms, 2):
        if x & y == wanted:
            return f"{a} and {b}"
        if x | y == wanted:
            return f"{a} or {b}"
    return None


def _of_three(atoms: Sequence[Atom], wanted: int) -> str | None:
    """`mode == 'gather' or (mode == None and x.size(1) <= 2048)` is how operators are written."""
    for (b, y), (c, z) in itertools.combinations(atoms, 2):
        both, either = y & z, y | z
        for a, x in atoms:
            if x | both == wanted:
                return f"{a} or ({b} and {c})"
            if x & either == wanted:
                return f"{a} and ({b} or {c})"
    return None


def _atoms(calls: Sequence[Call]) -> Iterator[Atom]:
    """Comparisons of one feature, each with the calls it holds for as bits; flags and types before numbers."""
    names = [name for name in calls[0] if all(name in call for call in calls)]
    columns = {name: [call[name] for call in calls] for name in names}
    varying = {name: values for name, values in columns.items() if len(set(values)) > 1}
    numbers = {name for name, values in varying.items() if all(value.isdecimal() for value in values)}
    for name, values in varying.items():
        if name not in numbers:
            yield from _equalities(name, values)
    for name in varying:
        if name in numbers:
            yield from _thresholds(name, [int(value) for value in varying[name]])


def _equalities(name: str, values: Sequence[str]) -> Iterator[Atom]:
    distinct = list(dict.fromkeys(values))
    for value in distinct:
        yield f"{name} == {value}", _bits([v == value for v in values])
    for value in distinct if len(distinct) > 2 else ():
        yield f"{name} != {value}", _bits([v != value for v in values])


def _thresholds(name: str, values: Sequence[int]) -> Iterator[Atom]:
    """Between numbers that were seen: where exactly the boundary lies, no call tells."""
    ordered = sorted(set(values))
    for low, high in itertools.pairwise(ordered):
        yield f"{name} <= {low}", _bits([v <= low for v in values])
        yield f"{name} >= {high}", _bits([v >= high for v in values])
    powers = [v > 0 and v & (v - 1) == 0 for v in values]
    if len(set(powers)) > 1:
        yield f"is_power_of_two({name})", _bits(powers)
        yield f"not is_power_of_two({name})", _bits([not power for power in powers])


def _bits(holds: Sequence[bool]) -> int:
    return sum(1 << position for position, one in enumerate(holds) if one)
