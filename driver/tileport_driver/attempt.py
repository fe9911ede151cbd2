"""READ FIRST: one attempt, from a request to an outcome, stage by stage.

Each stage reads the records before it, does its work so that doing it again is harmless, and writes its own record.
How far an attempt has come is kept by `durable.py`; what a stage found is kept in the attempt's folder (`store.py`).
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import docker

from tileport_driver import checkout as checkouts
from tileport_driver import draft_run
from tileport_driver.acceptance import GpuGates, Judge, judge
from tileport_driver.agent_run import (
    KEY_VARIABLE,
    AgentHost,
    ScriptMismatch,
    broker_token,
    clean_up,
    forget,
    run_agent,
    start_over,
    write_task,
)
from tileport_driver.broker.pieces import remember, remembered
from tileport_driver.deliver import deliver
from tileport_driver.draft_words import drafted_how
from tileport_driver.failures import Transient
from tileport_driver.final_contract import write_contract
from tileport_driver.git import open_trusted
from tileport_driver.gpu.judging import gpu_gates
from tileport_driver.host.engine import docker_engine
from tileport_driver.host.images import ensure_base, ensure_role
from tileport_driver.host.paths import containers_dir
from tileport_driver.host.toolchain import Toolchain, ensure_toolchain
from tileport_driver.host.versions import read_versions
from tileport_driver.leaks.fingerprints import Fingerprints
from tileport_driver.leaks.image import image_layers
from tileport_driver.leaks.scan import Place, refuse, scan
from tileport_driver.outcome import decide
from tileport_driver.patch import capture, mask_secrets
from tileport_driver.progress import Progress, Stage
from tileport_driver.records import Accepted, AgentRun, Delivery, DraftRun, Refused, Rejected
from tileport_driver.reporting import write_report
from tileport_driver.store import AttemptFolder
from tileport_driver.sweep import sweep
from tileport_skill.errors import MachineryError

ARCHS = ("sm_90", "sm_100")
"""Architectures every specialisation is compared for: Hopper and Blackwell."""
_FREE_GIB_NEEDED, _FREE_GIB_LEFT = 3, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What this machine offers an attempt, opened once per process."""

    client: docker.DockerClient
    base_image: str
    agent_image: str
    acceptance_image: str
    toolchain: Toolchain
    progress: Progress
    stop: Callable[[], bool]


@contextmanager
def open_host(progress: Progress, stop: Callable[[], bool]) -> Iterator[Host]:
    """Docker, images and toolchain, made if they are missing. Raises `MachineryError` saying what is needed."""
    versions = read_versions(containers_dir())
    with docker_engine() as client:
        sweep(client)
        base = ensure_base(client, versions, progress.say)
        toolchain = ensure_toolchain(client, base, versions, progress.say)
        yield Host(
            client=client,
            base_image=base,
            agent_image=ensure_role(client, base, "agent", progress.say),
            acceptance_image=ensure_role(client, base, "acceptance", progress.say),
            toolchain=toolchain,
            progress=progress,
            stop=stop,
        )


def judge_on(host: Host, gpu: GpuGates) -> Judge:
    """The judge's seat on this host."""
    return Judge(
        client=host.client,
        image=host.acceptance_image,
        toolchain=host.toolchain,
        archs=ARCHS,
        tick=host.progress.say,
        stop=host.stop,
        gpu=gpu,
    )


def prepare(attempt: AttemptFolder, host: Host) -> None:
    """The agent's tree: one fresh commit of the base, no remotes, the existing port gone."""
    host.progress.enter(Stage.PREPARING)
    _require_disk(attempt.path)
    request = attempt.request()
    shutil.rmtree(attempt.work, ignore_errors=True)
    _forget(attempt, host)
    attempt.work.mkdir()
    record, prints = checkouts.prepare_fingerprinted(
        Path(request.repository),
        request.base_commit,
        request.operator,
        attempt.trusted,
        _agent_tree(attempt),
        request.also_hidden,
    )
    attempt.write("checkout", record)
    write_task(attempt)
    if request.engine != "none":  # a program reads nothing but the reference
        look_for_leaks(attempt, host, prints)


def look_for_leaks(attempt: AttemptFolder, host: Host, prints: Fingerprints) -> None:
    """Every file the agent's container will see, layers of its image included. Raises `MachineryError` on a trace."""
    host.progress.say("looking for traces of the hidden port")
    mounted = [Place(name=inside, root=root, large=True) for root, inside in host.toolchain.mounts.items()]
    own = [Place(name="/work", root=_agent_tree(attempt)), Place(name="/task", root=attempt.task)]
    with image_layers(host.client, host.agent_image, prints, host.base_image) as layers:
        found = scan((*own, *mounted, *layers), prints)
    attempt.write("leaks", found)
    refuse(found, attempt.request().operator)


def run(attempt: AttemptFolder, host: Host) -> None:
    """The agent, in its container, until it ends, fails or outlives its limit; or the drafting program alone."""
    host.progress.enter(Stage.RUNNING)
    if start_over(host.client, attempt) or not _agent_tree(attempt).exists():
        _prepare_again(attempt, host)
    if attempt.request().engine == "none" or attempt.request().draft:
        _draft(attempt, host)
    if attempt.request().engine == "none":
        return
    remember(_pieces(attempt), _secrets(attempt))
    try:
        ran = run_agent(_seat(host, host.agent_image), attempt, _agent_tree(attempt))
        if ran.status != "finished":
            _blame_a_full_disk(attempt, host)
        attempt.write("agent_run", ran)
    except ScriptMismatch as mismatch:
        attempt.write("outcome", Refused(reason=str(mismatch)))
    clean_up(host.client, attempt)


def _blame_a_full_disk(attempt: AttemptFolder, host: Host) -> None:
    """An agent without room is not what failed: its container goes, so that it begins again once there is some."""
    try:
        _require_disk(attempt.path, _FREE_GIB_LEFT)
    except MachineryError:
        clean_up(host.client, attempt)
        raise


def _draft(attempt: AttemptFolder, host: Host) -> None:
    """Into the agent's tree, once. An agent can do without: for it a program that breaks down is no end."""
    if attempt.draft_run() is not None:
        return
    if draft_run.left_unfinished(host.client, attempt):
        _prepare_again(attempt, host)
    # The judge's image: it holds neither agent nor broker.
    seat = _seat(host, host.acceptance_image)
    try:
        drafted = draft_run.run_draft(seat, attempt, _agent_tree(attempt), ARCHS)
    except MachineryError as error:
        if attempt.request().engine == "none" or isinstance(error, Transient):
            raise
        _prepare_again(attempt, host)
        drafted = DraftRun(seconds=0.0, report=None, refused=(str(error),))
    attempt.write("draft_run", drafted)
    draft_run.clean_up(host.client, attempt)


def _forget(attempt: AttemptFolder, host: Host) -> None:
    """What was done in a tree that is made anew is to do again, whether or not it is known how far it had come."""
    draft_run.clean_up(host.client, attempt)
    clean_up(host.client, attempt)
    draft_run.forget(attempt)
    forget(attempt)
    for record in ("agent_run", "patch", "acceptance"):
        (attempt.path / f"{record}.json").unlink(missing_ok=True)


def _prepare_again(attempt: AttemptFolder, host: Host) -> None:
    prepare(attempt, host)
    host.progress.enter(Stage.RUNNING)


def _seat(host: Host, image: str) -> AgentHost:
    return AgentHost(client=host.client, image=image, toolchain=host.toolchain, progress=host.progress, stop=host.stop)


def take_patch(attempt: AttemptFolder, host: Host) -> None:
    """The diff, without running git in the agent's tree."""
    host.progress.enter(Stage.CAPTURED)
    if not _finished(attempt):
        return
    aside = attempt.work / "aside"
    patch, diff = capture(attempt.checkout(), attempt.trusted, _agent_tree(attempt), aside)
    trusted, known = open_trusted(attempt.trusted, _agent_tree(attempt)), remembered(_pieces(attempt))
    patch, diff = mask_secrets(trusted, patch, diff, _secrets(attempt), known)
    attempt.diff.write_bytes(diff)
    attempt.write("patch", patch)


def check(attempt: AttemptFolder, host: Host) -> None:
    """The gates, from base tree and patch alone."""
    host.progress.enter(Stage.CHECKING)
    patch, draft, run_record = attempt.patch(), attempt.draft_alone(), attempt.agent_run()
    if patch is None or (draft is not None and draft.refused) or (run_record and run_record.given_up):
        return
    seat = judge_on(host, gpu_gates(host.progress.say))
    acceptance = judge(seat, attempt, attempt.checkout(), patch)
    if not isinstance(acceptance, Accepted):  # what ran out of space failed for that, whatever it said
        _require_disk(attempt.path, _FREE_GIB_LEFT)
    attempt.write("acceptance", acceptance)


def publish(attempt: AttemptFolder, host: Host) -> None:
    """The outcome, unless there is one already; and the branch, unless a gate failed."""
    host.progress.enter(Stage.PUBLISHING)
    if attempt.outcome() is not None:
        return
    run_record, acceptance = attempt.agent_run() or attempt.draft_alone(), attempt.acceptance()
    if run_record is None:
        raise MachineryError("the agent's run left no record; resume the attempt.")
    delivery = _deliver(attempt, run_record) if acceptance and not isinstance(acceptance, Rejected) else None
    attempt.write("outcome", decide(run_record, acceptance, delivery))


def report(attempt: AttemptFolder, host: Host) -> None:
    """`report.md` and `report.html`; then the trees go, unless they are asked for."""
    write_contract(attempt)
    write_report(attempt)
    if not attempt.request().keep:
        shutil.rmtree(attempt.work, ignore_errors=True)
    host.progress.enter(Stage.DONE)


STAGES: dict[str, Callable[[AttemptFolder, Host], None]] = {
    "prepare": prepare,
    "run": run,
    "take_patch": take_patch,
    "check": check,
    "publish": publish,
    "report": report,
}
"""The story, in order."""


def timed(attempt: AttemptFolder, name: str, host: Host) -> None:
    """Runs one stage and notes how long it took, for the report."""
    started = time.monotonic()
    STAGES[name](attempt, host)
    with (attempt.path / "stages.jsonl").open("a", encoding="utf-8") as file:
        file.write(f'{{"stage": "{name}", "seconds": {time.monotonic() - started:.2f}}}\n')


def _deliver(attempt: AttemptFolder, run_record: AgentRun | DraftRun) -> Delivery:
    request, record, patch = attempt.request(), attempt.checkout(), attempt.patch()
    if patch is None:
        raise MachineryError("the attempt was judged without a patch; resume it.")
    tree = checkouts.delivery_tree(record, attempt.trusted, attempt.work / "delivery", patch)
    trusted = open_trusted(attempt.trusted, attempt.work / "delivery")
    if isinstance(run_record, DraftRun):
        how = drafted_how(run_record)
    else:
        written = f"Written by the {request.engine} engine in {run_record.turns} turns{_from_where(attempt)}"
        how = f"{written}, judged from the patch alone."
    return deliver(trusted, Path(request.repository), record, tree, attempt.id, how)


def _from_where(attempt: AttemptFolder) -> str:
    draft = attempt.draft_run()
    return " from a program's draft" if draft is not None and not draft.refused else ""


def _finished(attempt: AttemptFolder) -> bool:
    """Whether what lies in the tree is taken as a patch; also what a draft or the roles could not bring to an end."""
    draft = attempt.draft_alone()
    if draft is not None:
        return draft.report is not None and bool(draft.report.files)
    run_record = attempt.agent_run()
    return run_record is not None and (run_record.status == "finished" or run_record.given_up is not None)


def _secrets(attempt: AttemptFolder) -> tuple[str, ...]:
    """What no agent's patch may carry, as far as this process has it."""
    return os.environ.get(KEY_VARIABLE, ""), broker_token(attempt)


def _pieces(attempt: AttemptFolder) -> Path:
    """By which a worker that was never given the key knows it again."""
    return attempt.path / "secret-pieces.json"


def _agent_tree(attempt: AttemptFolder) -> Path:
    return attempt.work / "agent"


def _require_disk(folder: Path, needed: float = _FREE_GIB_NEEDED) -> None:
    free = shutil.disk_usage(folder).free / 2**30
    if free < needed:
        raise MachineryError(
            f"{folder} has {free:.1f} GiB free; an attempt needs {needed}. Free some, or set "
            "TILEPORT_STATE to a folder on a larger disk, then resume the attempt."
        )
