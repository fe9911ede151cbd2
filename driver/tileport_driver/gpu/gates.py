"""What came back from a machine with a GPU -> gates. The evidence must be about this very patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tileport_driver.records import Failed, Gate, NotRun, Passed, Patch
from tileport_skill.correctness.bytecodes import outbid, unproved
from tileport_skill.correctness.decide import Problem, allowed_skips, judgement
from tileport_skill.correctness.files import EVIDENCE
from tileport_skill.correctness.records import Evidence
from tileport_skill.errors import RequestError

_SHOWN = 3
"""Sentences a check may fill; the rest is counted."""


def read_evidence(folder: Path, patch: Patch, library_sha256: str | None) -> Evidence:
    """Raises `RequestError` if it does not read, or is about another patch or another build of it."""
    path = folder / EVIDENCE
    try:
        evidence: Evidence = TypeAdapter(Evidence).validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise RequestError(f"{path} does not exist; give the folder that run.sh wrote.") from error
    except ValidationError as error:
        raise RequestError(f"{path} does not read as evidence: {error.errors()[0]['msg']}") from error
    if evidence.job.result_tree != patch.result_tree:
        raise RequestError(
            f"{path} is about tree {evidence.job.result_tree[:12]}; this patch makes {patch.result_tree[:12]}."
        )
    if library_sha256 not in (None, evidence.job.library_sha256):
        raise RequestError(f"{path} was made with another library than the one built from this patch; pack it again.")
    return evidence


def correctness_gate(evidence: Evidence, folder: Path, judged: AbstractSet[str], arch: str, how: str) -> Gate:
    """The verdict of one correctness run. `judged` are hashes of the port's kernels found equal before;
    `arch` is the GPU's."""
    files = tuple(f"{folder.name}/{name}" for name in (EVIDENCE, "port-traced.xml", "reference-traced.xml", "port.log"))
    found = judgement(evidence)
    if isinstance(found, str):
        return NotRun(gate="correctness", why=found, how=how)
    away = outbid(evidence, folder / "bytecode") if {one.check for one in found} == {"entries"} else ()
    if len(away) == len(found):
        found = ()
    # Only of a port that did what it should is it worth asking what its every bytecode was.
    found = found or unproved(evidence, folder / "bytecode", arch, judged)
    if found:
        return Failed(gate="correctness", reasons=_reasons(found), files=files, seconds=evidence.seconds)
    return Passed(gate="correctness", evidence=_facts(evidence, away), files=files, seconds=evidence.seconds)


def _reasons(found: tuple[Problem, ...]) -> tuple[str, ...]:
    """A few sentences for each check, so that one does not drown another."""
    shown: list[str] = []
    counts = Counter(problem.check for problem in found)
    for check, count in counts.items():
        texts = [problem.text for problem in found if problem.check == check]
        shown += [f"{check}: {text}" for text in texts[:_SHOWN]]
        if count > _SHOWN:
            shown.append(f"{check}: {count - _SHOWN} more like these.")
    return tuple(shown)


def _facts(evidence: Evidence, away: tuple[str, ...]) -> tuple[str, ...]:
    port, compared = evidence.port, evidence.comparisons
    passed = sum(run.outcome == "passed" for run in port.tests)
    whose = "Tileport's own" if evidence.job.own_tests else "TileGym's own"
    entries = ", ".join(entry for entry in evidence.job.entries if entry not in away)
    asked, device = len(evidence.reference.tests), evidence.host["device"]
    facts = [
        f"{passed} of {asked} of {whose} tests pass with the port on {device}.",
        f"CUPTI saw {entries} do the work in every test and call, on the caller's stream, and nothing beside the "
        "reference's own copies.",
        f"{len(compared)} calls with fresh and awkward inputs agree with the reference computed in another process; "
        f"{sum(one.identical for one in compared)} of them to the last bit.",
        f"All {len(port.bytecodes)} bytecodes that the launcher handed to tileiras are kernels that the reference "
        "compiles, or that the Tile IR gate found equal.",
    ]
    facts += [
        f"{count} of these tests skip every port: {reason}; its kernels ran in the further calls."
        for reason, count in Counter(allowed_skips(evidence).values()).items()
    ]
    if away:
        facts.append(f"The tuner compiled {', '.join(away)} too and chose another; every bytecode of it is judged.")
    watched = evidence.sanitized
    facts.append(
        f"compute-sanitizer was not run: {watched.not_run}."
        if watched.not_run
        else f"compute-sanitizer's memcheck found nothing in {watched.calls} calls."
    )
    if evidence.reference.unrecorded:
        facts.append(f"Not made again: {'; '.join(evidence.reference.unrecorded[:_SHOWN])}.")
    return tuple(facts)
