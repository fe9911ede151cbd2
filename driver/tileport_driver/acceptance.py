"""A patch -> gates, from the base tree and the patch alone; the agent's tree and words are not read here.

The order is the design's: what costs nothing first. Once a gate fails the later ones are `NotRun`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import docker
from pydantic import TypeAdapter, ValidationError

from tileport_driver.checkout import clean_tree
from tileport_driver.container import (
    ContainerSpec,
    Finished,
    Limits,
    give_to_container_user,
    remove,
    start_or_adopt,
    wait,
)
from tileport_driver.disk_use import Written
from tileport_driver.failures import Transient
from tileport_driver.git import GitError
from tileport_driver.host.toolchain import Toolchain
from tileport_driver.outcome import accept
from tileport_driver.patch import apply, violations
from tileport_driver.records import Acceptance, AgentCheckout, Failed, Gate, GateName, NotRun, Passed, Patch
from tileport_driver.source_rules import broken_rules
from tileport_driver.store import AttemptFolder
from tileport_driver.tile_ir_words import equal, unequal
from tileport_skill.errors import MachineryError
from tileport_skill.infrastructure import is_there, needed_by
from tileport_skill.judge.findings import COMPARING, Build, Findings, TileIr
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files

_LIMITS = Limits(seconds=2400.0)
_FINDINGS = "findings.json"
_GATES: tuple[GateName, ...] = ("policy", "apply", "build", "tile-ir", "correctness", "performance")


MISSING_INFRASTRUCTURE = (
    "relies on what ports share, which this repository lacks. `tileport infra --repo REPO` makes that change; merge it "
    "first, or have the port drafted here."
)
GpuGates = Callable[[AttemptFolder, AgentCheckout, Patch], list[Gate]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What judging needs of this host."""

    client: docker.DockerClient
    image: str
    toolchain: Toolchain
    archs: tuple[str, ...]
    tick: Callable[[str], None]
    stop: Callable[[], bool]
    gpu: GpuGates
    """Correctness and performance, wherever there is a GPU for them."""
    tuning: bool = False
    """Whether the tuner's every configuration is compared too."""


def judge(
    judge: Judge, attempt: AttemptFolder, record: AgentCheckout, patch: Patch, *, go_on: bool = False
) -> Acceptance:
    """Runs every gate that can run here, in order, and sums them up. To `go_on`: although a source breaks a rule."""
    gates: list[Gate] = [_policy(record, patch)]
    tree = attempt.work / "judge"
    if isinstance(gates[-1], Passed):
        gates.append(_apply(attempt, record, patch, tree))
    if isinstance(gates[-1], Passed):
        gates[0] = _rules(gates[0], record, _base(attempt), tree)
        if go_on or isinstance(gates[0], Passed):
            gates += _inside(judge, attempt, record, tree)
    if not any(isinstance(gate, Failed) for gate in gates):
        gates += judge.gpu(attempt, record, patch)
    done = {gate.gate for gate in gates}
    gates += [_after_failure(name) for name in _GATES if name not in done]
    return accept(tuple(sorted(gates, key=lambda gate: _GATES.index(gate.gate))))


def _policy(record: AgentCheckout, patch: Patch) -> Gate:
    broken = violations(patch, record.allowed)
    if broken:
        return Failed(gate="policy", reasons=broken, files=("patch.diff",))
    count = len(patch.files)
    evidence = f"All {count} paths of the patch are among the six a port may touch; plain files, {patch.bytes:,} bytes."
    return Passed(gate="policy", evidence=(evidence,), files=("patch.diff",))


def _rules(policy: Gate, record: AgentCheckout, base: Path, tree: Path) -> Gate:
    """The same gate once more, now that the sources can be read: what they may not do."""
    checkout = open_checkout(tree)
    operator = find_operator(read_operators(checkout), record.operator)
    files = port_files(checkout, operator)
    reference = _text(base / operator.reference) or ""
    broken = broken_rules(files, reference, lambda path: _text(base / path), lambda path: _text(tree / path))
    if not is_there(checkout):
        texts = {path: _text(tree / path) or "" for path in (files.wrapper, files.launcher)}
        broken += [f"{path}: {MISSING_INFRASTRUCTURE}" for path in needed_by(texts)]
    if broken:
        return Failed(gate="policy", reasons=tuple(broken), files=("patch.diff",))
    evidence = "The sources keep to the rules: no reach into other modules, files, streams, processes or the reference."
    return replace(policy, evidence=(*policy.evidence, evidence)) if isinstance(policy, Passed) else policy


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def _apply(attempt: AttemptFolder, record: AgentCheckout, patch: Patch, tree: Path) -> Gate:
    started = time.monotonic()
    clean_tree(record, attempt.trusted, _base(attempt))
    trusted = clean_tree(record, attempt.trusted, tree)
    try:
        apply(trusted, patch, attempt.diff.read_bytes())
    except GitError as refusal:
        return Failed(gate="apply", reasons=(f"git refused the patch: {refusal}",), files=("patch.diff",))
    evidence = (
        f"Applied to a fresh tree of {record.base_commit[:12]} with the port hidden ({record.agent_tree[:12]}).",
        f"The tree that results is the tree that was left: {patch.result_tree}.",
    )
    return Passed(gate="apply", evidence=evidence, seconds=time.monotonic() - started)


def _inside(judge: Judge, attempt: AttemptFolder, record: AgentCheckout, tree: Path) -> list[Gate]:
    """The gates that run in the acceptance container."""
    # One that a killed driver left is not adopted: the trees it was given are gone, these were made anew.
    remove(judge.client, name := f"tileport-{attempt.id}-acceptance")
    shutil.rmtree(attempt.evidence, ignore_errors=True)
    attempt.evidence.mkdir()
    for folder in (tree, attempt.evidence):
        give_to_container_user(folder)
    spec = ContainerSpec(
        name=name,
        image=judge.image,
        attempt=attempt.id,
        command=(
            "--checkout",
            "/work",
            "--base",
            "/base",
            "--operator",
            record.operator,
            "--out",
            "/evidence",
            "--arch",
            *judge.archs,
            *(["--tuning"] if judge.tuning else []),
        ),
        writable={tree: "/work", attempt.evidence: "/evidence"},
        readable={**judge.toolchain.mounts, _base(attempt): "/base"},
        limits=_LIMITS,
    )
    try:
        container = start_or_adopt(judge.client, spec)
        finished = wait(
            container,
            spec.limits,
            tick=lambda: judge.tick(_last_stage(attempt.evidence)),
            stop=judge.stop,
            beat=Written(tree, attempt.evidence),
        )
    finally:
        remove(judge.client, spec.name)
    if not (attempt.evidence / _FINDINGS).is_file() and (short_of := _short_of(finished)) is not None:
        return _gave_out(attempt, short_of, finished)
    findings = _read_findings(attempt.evidence, finished)
    gates: list[Gate] = [_build_gate(findings.build)]
    if findings.tile_ir is not None:
        gates.append(_tile_ir_gate(findings.tile_ir))
    return gates


def _short_of(finished: Finished) -> str | None:
    if finished.overdrawn is not None:
        return f"the disk it may ({finished.overdrawn})"
    if finished.out_of_memory:
        return f"its {_LIMITS.memory / 2**30:.0f} GiB of memory"
    return f"its {_LIMITS.seconds / 60:.0f} minutes" if finished.exit_code is None else None


def _gave_out(attempt: AttemptFolder, short_of: str, finished: Finished) -> list[Gate]:
    """Once may be this machine's doing, and is tried again; twice with one patch is that patch's."""
    marker = attempt.path / "judge-gave-out"
    tree, stage = attempt.checkout().agent_tree, _last_stage(attempt.evidence)
    patch = attempt.patch()
    this = f"{tree} {patch.result_tree if patch is not None else ''}"
    if not marker.is_file() or marker.read_text(encoding="utf-8") != this:
        marker.write_text(this, encoding="utf-8")
        raise Transient(f"the acceptance container used up {short_of} while {stage}:\n{finished.last_lines(12)}")
    reason = f"Judging used up {short_of} while {stage}, twice. The last lines:\n{finished.last_lines(12)}"
    if stage != COMPARING:
        return [Failed(gate="build", reasons=(reason,), seconds=finished.seconds)]
    built = Passed(gate="build", evidence=("The crate was built before the comparison began.",))
    return [built, Failed(gate="tile-ir", reasons=(reason,), seconds=finished.seconds)]


def _read_findings(evidence: Path, finished: Finished) -> Findings:
    """Without findings the judging itself broke down, which is ours: no verdict about the port follows from it."""
    path = evidence / _FINDINGS
    if finished.exit_code != 0 or not path.is_file():
        kind = Transient if finished.ended_from_outside else MachineryError
        raise kind(f"the acceptance container broke down:\n{finished.last_lines(12)}")
    try:
        return TypeAdapter(Findings).validate_json(path.read_bytes())
    except ValidationError as error:
        raise MachineryError(f"{path} does not read as findings: {error.errors()[0]['msg']}") from error


def _build_gate(build: Build) -> Gate:
    files = ("evidence/build.log",)
    if not build.ok:
        return Failed(
            gate="build", reasons=(f"{build.command} failed:\n{build.excerpt}",), files=files, seconds=build.seconds
        )
    evidence = f"{build.command} succeeded; the library's SHA-256 is {build.library_sha256}."
    return Passed(gate="build", evidence=(evidence,), files=files, seconds=build.seconds)


def _tile_ir_gate(found: TileIr) -> Gate:
    """Every specialisation must come out equal; unknown is never passed silently."""
    files = ("evidence/findings.json",)
    reasons = (found.problem,) if found.problem is not None else unequal(found.rows)
    if reasons:
        return Failed(gate="tile-ir", reasons=reasons, files=files, seconds=found.seconds)
    return Passed(gate="tile-ir", evidence=equal(found.rows), files=files, seconds=found.seconds)


def _after_failure(name: GateName) -> NotRun:
    return NotRun(gate=name, why="An earlier gate failed.", how="Mend that first; the gate runs by itself then.")


def _base(attempt: AttemptFolder) -> Path:
    """The clean tree without the patch: where the reference is captured."""
    return attempt.work / "base"


def _last_stage(evidence: Path) -> str:
    path = evidence / "stage"
    return path.read_text(encoding="utf-8").strip() if path.is_file() else "starting"
