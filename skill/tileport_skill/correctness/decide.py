"""From evidence to what speaks against a port: pure, and in the words of the report."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal

from tileport_skill.correctness.records import Evidence, Observation, TestRun, entry_of

Check = Literal[
    "library",
    "process",
    "tests",
    "skips",
    "bypass",
    "gradients",
    "kernels",
    "entries",
    "copies",
    "stream",
    "threads",
    "types",
    "layout",
    "inputs",
    "accepts",
    "values",
    "memory",
    "integrity",
    "bytecode",
]
_SHOWN = 4
_NAME = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing against the port."""

    check: Check
    text: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def judgement(evidence: Evidence) -> tuple[Problem, ...] | str:
    """What speaks against the port; or why the run says nothing about it."""
    # A reference that broke down took its part of the evidence with it: what is missing then is not the port's doing.
    found = problems(evidence) if evidence.reference.exit == "ended" else ()
    return found or not_measured(evidence) or ()


def problems(evidence: Evidence) -> tuple[Problem, ...]:
    """Everything that speaks against the port; none means that the gate passes."""
    found: list[Problem] = []
    if evidence.library_sha256 != evidence.job.library_sha256:
        found.append(Problem(check="library", text="The library that ran is not the one that was built and compared."))
    if evidence.port.exit != "ended" and evidence.reference.exit == "ended":
        found.append(Problem(check="process", text=f"The port's process {evidence.port.exit}."))
    found += _tests(evidence, allowed_skips(evidence))
    found += _traced(evidence)
    found += _calls(evidence)
    found += [
        Problem(check="values", text=f"{compared.item}: {text}")
        for compared in evidence.comparisons
        for text in compared.problems
    ]
    found += [Problem(check="memory", text=f"compute-sanitizer: {error}.") for error in evidence.sanitized.errors]
    slowed = [
        name for name, code in evidence.reference.fingerprint.items() if evidence.port.fingerprint.get(name) != code
    ]
    if slowed and evidence.port.fingerprint:
        text = f"With the port loaded {', '.join(slowed[:_SHOWN])} is not what it is without."
        found.append(Problem(check="integrity", text=text))
    if evidence.port.patched:
        names = ", ".join(evidence.port.patched[:_SHOWN])
        found.append(Problem(check="integrity", text=f"While the port was loaded somebody replaced {names}."))
    return tuple(found)


def allowed_skips(evidence: Evidence) -> dict[str, str]:
    """The cases that the operator's entry allows to be skipped, by id, each with its reason."""
    known = _allowed().get(evidence.job.operator, ())
    return {
        run.id: one["reason"]
        for run in evidence.port.tests
        for one in known
        if run.outcome == "skipped" and not run.dispatched and one["case"] in run.id and one["message"] in run.message
    }


@cache
def _allowed() -> Mapping[str, list[dict[str, str]]]:
    with (Path(__file__).parent / "allowed_skips.toml").open("rb") as file:
        return MappingProxyType(tomllib.load(file))


def not_measured(evidence: Evidence) -> str | None:
    """Why the run says nothing about the port, where it does not: the reference's own side broke down."""
    if evidence.reference.exit != "ended":
        return f"The reference's process {evidence.reference.exit}; see reference.log."
    if not any(run.outcome == "passed" and run.dispatched for run in evidence.reference.tests):
        return "No test of the reference reached the operator and passed on this machine; see reference.log."
    if not any(observation.error is None for observation in evidence.reference.observations):
        return "No call of the operator could be kept and made again, so no value was compared; see correctness.json."
    return None


def _tests(evidence: Evidence, skips: dict[str, str]) -> list[Problem]:
    """Every case that the reference passes, the port must pass: none lost, none skipped, none led past the port."""
    found = []
    port = {run.id: run for run in evidence.port.tests}
    for run in evidence.reference.tests:
        if run.outcome != "passed":
            continue
        ours = port.get(run.id)
        if ours is None:
            found.append(Problem(check="tests", text=f"{run.id} was not run with the port."))
        elif ours.outcome == "skipped":
            if run.id not in skips:
                found.append(Problem(check="skips", text=f"{run.id} is skipped with the port: {ours.message}"))
        elif ours.outcome != "passed":
            found.append(Problem(check="tests", text=f"{run.id} {ours.outcome}: {ours.message}"))
        else:
            found += _reached(run, ours)
    return found


def _reached(reference: TestRun, port: TestRun) -> list[Problem]:
    found = []
    if port.reference_launches:
        text = f"{port.id} launched {port.reference_launches} cuTile Python kernels while the port was asked for."
        found.append(Problem(check="bypass", text=text))
    if reference.dispatched and not port.dispatched:
        found.append(Problem(check="bypass", text=f"{port.id} never reached the port."))
    pairs = zip(port.gradients, reference.gradients, strict=False)
    if any(theirs and not ours for ours, theirs in pairs):
        text = f"{port.id}: the result takes no part in autograd, so no gradient was compared; the reference's does."
        found.append(Problem(check="gradients", text=text))
    return found


def _traced(evidence: Evidence) -> list[Problem]:
    """CUPTI's word on the tests: the port's own entries did the work, each of them, and nobody else did."""
    found = []
    reference = {run.id: run for run in evidence.reference.tests}
    entries = set(evidence.job.entries)
    for run in evidence.port.tests:
        theirs = reference.get(run.id)
        if run.outcome != "passed" or theirs is None or not run.dispatched:
            continue
        own = {entry_of(name) for name in run.kernels} & entries
        if not own and any(_is_tile(name, evidence) for name in theirs.kernels):
            found.append(Problem(check="kernels", text=f"{run.id}: no kernel of the port ran."))
        strangers: dict[Check, list[str]] = {}
        for name in run.kernels:
            if entry_of(name) in entries:
                continue
            if _is_tile(name, evidence) or name not in theirs.kernels:
                strangers.setdefault(_blame(name, evidence), []).append(name[:_NAME])
        for check, names in strangers.items():
            text = f"{run.id}: work was done by {', '.join(names[:_SHOWN])}, which is not the port's to use."
            found.append(Problem(check=check, text=text))
    found += [Problem(check="entries", text=f"{entry} never ran, in any test or call.") for entry in idle(evidence)]
    return found


def idle(evidence: Evidence) -> tuple[str, ...]:
    """Entries that the port declares and CUPTI never saw."""
    names = [work.name for observation in evidence.port.observations for work in observation.work]
    for run in evidence.port.tests:
        if run.outcome == "passed" and run.dispatched:
            names += [*run.kernels, *run.other_kernels]
    return tuple(sorted(set(evidence.job.entries) - set(map(entry_of, names))))


def _calls(evidence: Evidence) -> list[Problem]:
    """The kept calls and their variations, where the reference takes them."""
    found = []
    port = {observation.item: observation for observation in evidence.port.observations}
    compared = {comparison.item for comparison in evidence.comparisons}
    for expected in evidence.reference.observations:
        if expected.error is not None:
            continue
        ours = port.get(expected.item)
        if ours is None:
            found.append(Problem(check="process", text=f"{expected.item}: the port's process never came to it."))
        elif ours.error is not None:
            found.append(Problem(check="accepts", text=f"{expected.item}: the reference works, the port: {ours.error}"))
        else:
            found += [
                Problem(check=check, text=f"{expected.item}: {text}") for check, text in _one(expected, ours, evidence)
            ]
            if expected.item not in compared:
                text = f"{expected.item}: the values the port returned are gone, so nothing was compared."
                found.append(Problem(check="values", text=text))
    return found


def _one(expected: Observation, ours: Observation, evidence: Evidence) -> list[tuple[Check, str]]:
    found: list[tuple[Check, str]] = []
    for wanted, given in zip(expected.outputs, ours.outputs, strict=False):
        if given.type != wanted.type or not given.storage:
            found.append(
                ("types", f"returned a {given.type}, {'' if given.storage else 'without memory, '}not a {wanted.type}.")
            )
        elif (given.dtype, given.shape, given.stride, given.device) != (
            wanted.dtype,
            wanted.shape,
            wanted.stride,
            wanted.device,
        ):
            shown = f"{given.dtype} {given.shape} by {given.stride} on {given.device}"
            meant = f"{wanted.dtype} {wanted.shape} by {wanted.stride} on {wanted.device}"
            found.append(("layout", f"returned {shown} instead of {meant}."))
        elif given.alias != wanted.alias:
            found.append(
                ("layout", f"the result shares memory with input {given.alias}, the reference's with {wanted.alias}.")
            )
        if wanted.requires_grad and not given.requires_grad:
            found.append(("gradients", "the result takes no part in autograd; the reference's does."))
    if len(expected.outputs) != len(ours.outputs):
        found.append(("types", f"returned {len(ours.outputs)} values instead of {len(expected.outputs)}."))
    if set(ours.changed) - set(expected.changed):
        found.append(
            ("inputs", f"changed input {min(set(ours.changed) - set(expected.changed))}, or memory beside it.")
        )
    if ours.threads > expected.threads:
        found.append(("threads", f"left {ours.threads - expected.threads} more threads behind than the reference."))
    return found + _work(expected, ours, evidence)


def _work(expected: Observation, ours: Observation, evidence: Evidence) -> list[tuple[Check, str]]:
    """What the device did in one call."""
    entries = set(evidence.job.entries)
    if not expected.work:
        return []
    found: list[tuple[Check, str]] = []
    own = [work for work in ours.work if entry_of(work.name) in entries]
    if not own and any(_is_tile(work.name, evidence) for work in expected.work):
        found.append(("kernels", "no kernel of the port ran."))
    # What surrounds the reference's kernels may surround the port's; those kernels themselves may not.
    allowed = Counter(work.name for work in expected.work if not _is_tile(work.name, evidence))
    extra = Counter(work.name for work in ours.work if entry_of(work.name) not in entries) - allowed
    for name, count in list(extra.items())[:_SHOWN]:
        found.append((_blame(name, evidence), f"{count} × {name[:_NAME]} beyond what the reference does."))
    elsewhere = {work.stream for work in ours.work if work.stream != ours.stream}
    if elsewhere and all(work.stream == expected.stream for work in expected.work):
        found.append(("stream", "worked on another stream than the caller's."))
    return found


def _blame(name: str, evidence: Evidence) -> Check:
    """What a piece of device work that is not the port's speaks of."""
    if _is_tile(name, evidence):
        return "bypass"
    copying = name.startswith("driver ") or "copy" in name.casefold() or "fill" in name.casefold()
    return "copies" if copying else "kernels"


def _is_tile(name: str, evidence: Evidence) -> bool:
    """Whether the reference's own kernels include this one."""
    return any(kernel in name for kernel in evidence.job.kernels)
