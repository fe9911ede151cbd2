"""The port, drafted by the skill's program in a container with neither agent nor broker.

An agent begins at it; with `--engine none` it is all there is, and the same patch is taken from the same tree and put
through the same gates. What cannot be drafted is data, each kernel with its reason and line.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import docker
from pydantic import TypeAdapter, ValidationError

from tileport_driver.agent_run import AgentHost
from tileport_driver.container import (
    ContainerSpec,
    Finished,
    Limits,
    Stopped,
    exists,
    give_to_container_user,
    remove,
    start_or_adopt,
    wait,
)
from tileport_driver.disk_use import Written
from tileport_driver.failures import Transient
from tileport_driver.records import DraftRun
from tileport_driver.store import AttemptFolder
from tileport_skill.draft.report import DraftReport
from tileport_skill.errors import MachineryError

_LIMITS = Limits(seconds=2400.0)
_REPORT = "draft.json"
_DRAFTED, _PART_REFUSED, _BAD_REQUEST = 0, 11, 12
"""Exit statuses of `tileport-skill draft`."""


def run_draft(host: AgentHost, attempt: AttemptFolder, tree: Path, archs: tuple[str, ...]) -> DraftRun:
    """Runs (or finds again) the container that drafts into `tree`. Raises `Stopped`, and `MachineryError`."""
    spec = _spec(host, attempt, tree, archs)
    container = start_or_adopt(host.client, spec)
    try:
        finished = wait(
            container,
            spec.limits,
            tick=lambda: host.progress.say("drafting"),
            stop=host.stop,
            beat=Written(tree, _folder(attempt)),
        )
    except Stopped:
        remove(host.client, spec.name)
        raise
    (attempt.path / "draft.log").write_text(finished.log, encoding="utf-8")
    try:
        return _record(finished, _folder(attempt) / _REPORT)
    except MachineryError:
        remove(host.client, spec.name)
        raise


def container_name(attempt: AttemptFolder) -> str:
    """The natural key under which the container is found again."""
    return f"tileport-{attempt.id}-draft"


def left_unfinished(client: docker.DockerClient, attempt: AttemptFolder) -> bool:
    """Whether a container that is gone may have left half a port in the tree."""
    return _folder(attempt).exists() and not exists(client, container_name(attempt))


def forget(attempt: AttemptFolder) -> None:
    """The tree is made anew, so its draft is to be too."""
    (attempt.path / "draft_run.json").unlink(missing_ok=True)
    shutil.rmtree(_folder(attempt), ignore_errors=True)


def clean_up(client: docker.DockerClient, attempt: AttemptFolder) -> None:
    """Only once the record is written, so that a killed driver can still adopt the container."""
    remove(client, container_name(attempt))


def _spec(host: AgentHost, attempt: AttemptFolder, tree: Path, archs: tuple[str, ...]) -> ContainerSpec:
    folder = _folder(attempt)
    folder.mkdir(exist_ok=True)
    for owned in (tree, folder):
        give_to_container_user(owned)
    request = attempt.request()
    options = ["--repo", "/work", "--out", "/work", "--report", f"/draft/{_REPORT}"]
    options += [word for arch in archs for word in ("--arch", arch)]
    options += ["--declare"] if request.declare else []
    return ContainerSpec(
        name=container_name(attempt),
        image=host.image,
        attempt=attempt.id,
        entrypoint=("python3", "-m", "tileport_skill"),
        command=("draft", request.operator, *options),
        writable={tree: "/work", folder: "/draft"},
        readable=host.toolchain.mounts,
        limits=_LIMITS,
    )


def _record(finished: Finished, path: Path) -> DraftRun:
    """A refusal of the request is the program's own text; any other end without a report is ours."""
    if finished.exit_code == _BAD_REQUEST:
        said = finished.log.rpartition("error: ")[2].strip() or "the program gave no reason"
        return DraftRun(seconds=finished.seconds, report=None, refused=(said,))
    if finished.exit_code not in (_DRAFTED, _PART_REFUSED) or not path.is_file():
        how = "ran out of memory" if finished.out_of_memory else f"ended with {finished.exit_code}"
        how = f"was ended: {finished.overdrawn}" if finished.overdrawn is not None else how
        kind = Transient if finished.ended_from_outside else MachineryError
        raise kind(f"the drafting program {how}:\n{finished.last_lines(12)}")
    try:
        report = TypeAdapter(DraftReport).validate_json(path.read_bytes())
    except ValidationError as error:
        raise MachineryError(f"{path} does not read as a draft's report: {error.errors()[0]['msg']}") from error
    return DraftRun(seconds=finished.seconds, report=report, refused=report.reasons)


def _folder(attempt: AttemptFolder) -> Path:
    return attempt.path / "draft"
