"""A capture of an operator's calls with a widened tuning space, as what can be tried on each call. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tileport_skill.capture.records import (
    Argument,
    Capture,
    Entry,
    Launch,
    ListArgument,
    Specialisation,
    TensorArgument,
)
from tileport_skill.tuning.candidates import Candidate, Choice, read_spelling
from tileport_skill.tuning.classes import Features
from tileport_skill.tuning.features import features_of, features_of_call
from tileport_skill.tuning.shapes import Shape, Task

CASES = "tests/rows/test_rows.py"
"""The test file that makes the calls, among our own cases."""
_CASE = re.compile(r"\[(?P<operator>[\w-]+):(?P<shape>\d+):(?P<way>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One launch as a candidate would make it: the same work makes two candidates one."""

    specialisation: str
    ir: str | None
    """Hash of its Tile IR; None if cuTile's compiler refused it."""
    grid: tuple[int, ...]
    refused: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A candidate of one kernel on one call."""

    candidate: Candidate
    works: tuple[Work, ...]
    """One for each launch of the kernel that the call makes."""
    own: bool
    """Whether it is in the reference's own list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A kernel that a call launches."""

    kernel: str
    module: str
    default: tuple[Work, ...]
    """As the host launches it where nothing is tuned."""
    launches: tuple[Launch, ...]
    tried: tuple[Tried, ...]
    """The reference's own list first, if it has one."""
    features: Features
    """Of the first launch's arguments, without those that candidates decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A call made with some options, or without copies."""

    choice: Choice
    sites: tuple[Site, ...]
    function: str
    """The operator's own function that was called."""
    features: Features
    """Of its arguments."""
    problem: str | None
    """Why it cannot be made so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredCall:
    """One shape with every way to make its call, the reference's own first."""

    shape: Shape
    ways: tuple[Way, ...]


def explored(task: Task, captured: Capture) -> tuple[ExploredCall, ...]:
    """One for each shape of the task."""
    known = {one.id: one for one in captured.specialisations}
    launches: dict[tuple[int, int], list[Launch]] = {}
    for launch in captured.launches:
        if (key := _case(launch.test, task.operator)) is not None:
            launches.setdefault(key, []).append(launch)
    problems = {_case(test.id, task.operator): test.reason for test in captured.tests if test.status != "passed"}
    return tuple(
        ExploredCall(
            shape=shape,
            ways=tuple(
                Way(
                    choice=way,
                    sites=tuple(_sites(launches.get((number, place), []), known)),
                    function=entry.function if (entry := _entry(launches.get((number, place), []), captured)) else "",
                    features=features_of_call(entry) if entry else {},
                    problem=problems.get((number, place)),
                )
                for place, way in enumerate(task.ways(shape))
            ),
        )
        for number, shape in enumerate(task.shapes)
    )


def _case(test: str, operator: str) -> tuple[int, int] | None:
    found = _CASE.search(test)
    if found is None or found["operator"] != operator:
        return None
    return int(found["shape"]), int(found["way"])


def _entry(launches: list[Launch], captured: Capture) -> Entry | None:
    return next((captured.entries[launch.entry] for launch in launches if launch.entry is not None), None)


def _sites(launches: list[Launch], known: dict[str, Specialisation]) -> Iterator[Site]:
    """Candidates follow the launch they are of; what a search tried before it is launched again after it."""
    sites: dict[tuple[str, str], Site] = {}
    varying: dict[tuple[str, str], set[int]] = {}
    tried: dict[tuple[str, str], dict[str, list[Work]]] = {}
    own: dict[tuple[str, str], set[str]] = {}
    current: tuple[str, str] | None = None
    seen: set[str] = set()
    for launch in launches:
        one = known[launch.specialisation]
        key = (one.module, one.kernel)
        work = _work(launch, one)
        if launch.purpose == "launch":
            current, seen = key, set()
            site = sites.setdefault(
                key, Site(kernel=one.kernel, module=one.module, default=(), launches=(), tried=(), features={})
            )
            sites[key] = replace(site, default=(*site.default, work), launches=(*site.launches, launch))
        elif key != current:
            own.setdefault(key, set()).add(launch.configuration or "")
        elif launch.configuration is not None and launch.configuration not in seen:
            seen.add(launch.configuration)
            tried.setdefault(key, {}).setdefault(launch.configuration, []).append(work)
            base = sites[key].launches[-1].arguments
            differing = (n for n, (a, b) in enumerate(zip(base, launch.arguments, strict=False)) if _differs(a, b))
            varying.setdefault(key, set()).update(differing)
    for key, site in sites.items():
        found = tuple(
            Tried(candidate=read_spelling(text), works=tuple(works), own=text in own.get(key, ()))
            for text, works in tried.get(key, {}).items()
            if len(works) == len(site.default)
        )
        features = features_of(site.launches[0], frozenset(varying.get(key, ())))
        yield replace(site, tried=found, features=features)


def _differs(one: Argument, other: Argument) -> bool:
    """Memory allocated for a trial is no difference; a size that a configuration decides is one."""
    match one, other:
        case TensorArgument(), TensorArgument():
            return (one.dtype, one.shape) != (other.dtype, other.shape)
        case ListArgument(), ListArgument():
            return len(one.items) != len(other.items)
    return one != other


def _work(launch: Launch, one: Specialisation) -> Work:
    return Work(
        specialisation=one.id,
        ir=None if one.ir is None else one.ir.sha256,
        grid=launch.grid,
        refused=one.refused,
    )
