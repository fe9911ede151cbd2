"""A patch from anywhere, judged as an agent's is: the same trees, the same gates, no agent."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tileport_driver import checkout as checkouts
from tileport_driver.acceptance import GpuGates, judge
from tileport_driver.alone import alone
from tileport_driver.attempt import judge_on, open_host
from tileport_driver.git import GitError, open_trusted
from tileport_driver.gpu.gates import read_evidence
from tileport_driver.gpu.judging import command_line, gpu_gates, not_run
from tileport_driver.gpu.pack import check_new, pack
from tileport_driver.patch import read_patch
from tileport_driver.progress import Progress, Stage
from tileport_driver.records import Acceptance, AgentCheckout, Patch, Rejected
from tileport_driver.requests import Order, make_request
from tileport_driver.store import AttemptFolder, new_judgement
from tileport_skill.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a user wants judged."""

    patch: Path
    operator: str
    repository: Path
    base: str = "HEAD"
    also_hidden: tuple[str, ...] = ()
    """Other operators whose ports were hidden from who wrote it."""
    pack: Path | None = None
    """Where to put the folder for a machine with a GPU; then those gates are not run here."""
    evidence: Path | None = None
    """What such a machine sent back."""
    gpu: bool = True
    """Whether the gates that need a GPU are wanted."""
    go_on: bool = False
    """Build and compare although the sources break a rule."""
    tuning: bool = False
    """Compare every configuration of the reference's tuner, which takes minutes."""


def judge_patch(question: Question, progress: Progress, stop: Callable[[], bool]) -> tuple[Acceptance, AttemptFolder]:
    """Every gate over one patch. Raises `RequestError` for a patch that does not read or apply."""
    diff = _read(question.patch)
    order = Order(
        operator=question.operator,
        repository=question.repository,
        engine="none",
        base=question.base,
        also_hidden=question.also_hidden,
    )
    folder = new_judgement(make_request(order))
    progress.enter(Stage.CHECKING)
    with alone(folder):  # while this process lives, no sweep takes its trees
        try:
            record, patch = _prepare(folder, diff)
            _check(question, patch)
            with open_host(progress, stop) as host:
                seat = replace(judge_on(host, _gpu(question, progress)), tuning=question.tuning)
                acceptance = judge(seat, folder, record, patch, go_on=question.go_on)
            folder.write("acceptance", acceptance)
            if question.pack is not None and not isinstance(acceptance, Rejected):
                pack(record, patch, folder.work / "base", folder.work / "judge", question.pack)
        finally:
            shutil.rmtree(folder.work, ignore_errors=True)
    progress.enter(Stage.DONE)
    return acceptance, folder


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}. Give a diff as `git diff` prints it.") from error


def _prepare(folder: AttemptFolder, diff: bytes) -> tuple[AgentCheckout, Patch]:
    request = folder.request()
    folder.work.mkdir()
    tree = folder.work / "asked"
    record = checkouts.prepare(
        Path(request.repository), request.base_commit, request.operator, folder.trusted, tree, request.also_hidden
    )
    folder.write("checkout", record)
    try:
        patch = read_patch(record, open_trusted(folder.trusted, tree), diff)
    except GitError as error:
        raise RequestError(
            f"The patch does not apply to {request.base_commit[:12]} with the existing port of {request.operator} "
            f"taken out: {error}"
        ) from error
    folder.diff.write_bytes(diff)
    folder.write("patch", patch)
    return record, patch


def _check(question: Question, patch: Patch) -> None:
    """What would be refused in the end is refused before anything is built."""
    if question.evidence is not None:
        read_evidence(question.evidence, patch, None)
    if question.pack is not None:
        check_new(question.pack)


def _gpu(question: Question, progress: Progress) -> GpuGates:
    if not question.gpu:
        return lambda _, record, __: not_run("Only what a CPU can judge was asked for.", command_line(record))
    if question.pack is None:
        return gpu_gates(progress.say, question.evidence)
    how = f"On a machine with a GPU: `sh {question.pack.name}/run.sh`; then here again with --evidence."
    return lambda *_: not_run(f"Packed into {question.pack} for another machine.", how)
