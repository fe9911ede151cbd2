"""One run of the agent's container: broker outside, agent inside, polled until it ends.

A container that is found alive is adopted; one that died without saying how is our failure, not the agent's.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

import docker
from pydantic import TypeAdapter, ValidationError

from tileport_driver.broker.budget import LIVE_MODEL, ROLE_SHARES, Budget, check_budget
from tileport_driver.broker.engines import LiveModel, Model, ScriptedModel
from tileport_driver.broker.script import load_script
from tileport_driver.broker.server import Broker
from tileport_driver.container import (
    ContainerSpec,
    Finished,
    Limits,
    Stopped,
    container_user,
    exists,
    give_to_container_user,
    remove,
    start_or_adopt,
    wait,
)
from tileport_driver.disk_use import Written
from tileport_driver.failures import Transient
from tileport_driver.host.toolchain import Toolchain
from tileport_driver.progress import Progress
from tileport_driver.records import AgentRun, PortRequest
from tileport_driver.roles_run import machine_lacks, read_diagnosis, read_turns
from tileport_driver.store import AttemptFolder, attempt_of
from tileport_driver.task import BEFORE, PREVIOUS_PATCH, task_text, told_text
from tileport_skill.agent.report import REPORT_FILE, AgentReport
from tileport_skill.agent.status import read_status
from tileport_skill.agent.wire import TOKEN_VARIABLE
from tileport_skill.errors import MachineryError, RequestError

KEY_VARIABLE = "ANTHROPIC_API_KEY"
SCRIPTED_MODEL = "scripted"
_INSIDE_SECONDS = 3600.0
_ROLES = "/port"
_ROLES_ARCH = "sm_90"
"""Roles compare for one architecture, within seconds after each edit; the gates do it for all."""
_LIMITS = Limits(seconds=_INSIDE_SECONDS + 120)
_MAX_REPORT = 1_000_000
_MODEL_STAYED_AWAY, _CHECKS_BROKE_DOWN, _OVERDUE = 3, 4, 124
"""Exit statuses of the agent's process, see `tileport_skill.agent`."""
_BUDGET = Budget(tokens=6_000_000, dollars=Decimal(40), shares=ROLE_SHARES)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHost:
    """What running an agent needs of this host."""

    client: docker.DockerClient
    image: str
    toolchain: Toolchain
    progress: Progress
    stop: Callable[[], bool]


class ScriptMismatch(RequestError):
    """The conversation left the script; the text says where."""


def run_agent(host: AgentHost, attempt: AttemptFolder, tree: Path) -> AgentRun:
    """Runs (or finds again) the agent's container on `tree` and waits for its end.

    Raises `Stopped` when asked to stop, `ScriptMismatch`, and `MachineryError` for what is not the agent's doing.
    """
    request = attempt.request()
    model, name = _model(request)
    spec = _spec(host, attempt, tree, name)
    broker = Broker(
        socket_dir=attempt.sockets,
        model=model,
        token=broker_token(attempt),
        budget=_BUDGET,
        transcript=attempt.transcript,
        uid=container_user(),
    )
    with broker:
        container = start_or_adopt(host.client, spec)
        try:
            finished = wait(
                container,
                spec.limits,
                tick=lambda: _watch(host.progress, broker),
                stop=host.stop,
                beat=_Signs(_status_dir(attempt), (tree, _status_dir(attempt), attempt.roles)),
            )
        except (Stopped, Transient):
            with contextlib.suppress(Transient):  # an engine that does not answer keeps it, and the next try adopts it
                remove(host.client, spec.name)
            raise
        divergence, failure = broker.divergence(), broker.failure()
        turns, usage = broker.turns(), broker.usage()
    _keep(attempt, finished)
    if divergence:
        raise ScriptMismatch(f"The script no longer fits the conversation. {divergence}")
    if failure:
        raise Transient(failure)
    try:
        status, summary = _end(finished, _status_dir(attempt))
    except MachineryError:
        remove(host.client, spec.name)
        raise
    given_up = read_diagnosis(attempt.roles)
    if lacks := machine_lacks(given_up):
        remove(host.client, spec.name)
        raise MachineryError(lacks)
    return AgentRun(
        status=status,
        exit_code=finished.exit_code,
        seconds=finished.seconds,
        turns=turns,
        usage=usage,
        summary=summary,
        roles=read_turns(attempt.roles),
        given_up=given_up if status == "failed" else None,
    )


class _Signs:
    """The agent's beat; what it has written is measured too."""

    def __init__(self, status: Path, folders: tuple[Path, ...]) -> None:
        self._status, self._written = status, Written(*folders)

    def __call__(self) -> object:
        self._written()
        status = read_status(self._status)
        return status.beat if status is not None else None


def container_name(attempt: AttemptFolder) -> str:
    """The natural key under which the container is found again."""
    return f"tileport-{attempt.id}-agent"


def start_over(client: docker.DockerClient, attempt: AttemptFolder) -> bool:
    """Puts a conversation aside whose container is gone, so that the next begins at its beginning. True if it did."""
    if not attempt.transcript.exists() or exists(client, container_name(attempt)):
        return False
    number = len(list(attempt.path.glob("transcript.stopped-*.jsonl"))) + 1
    attempt.transcript.rename(attempt.path / f"transcript.stopped-{number}.jsonl")
    return True


def forget(attempt: AttemptFolder) -> None:
    """What roles have done so far goes with the tree that they did it in."""
    shutil.rmtree(attempt.roles, ignore_errors=True)


def write_task(attempt: AttemptFolder) -> None:
    """What the agent is told, where its container will find it; a second attempt finds the first one's patch too.

    One conversation is told in `task.md`; roles have texts of their own and are pointed at what only this attempt has
    to say, `before.md`.
    """
    request = attempt.request()
    attempt.task.mkdir(exist_ok=True)
    before = attempt_of(request.previous) if request.previous else None
    patch = before.diff if before is not None and before.diff.is_file() else None
    if patch is not None:
        shutil.copyfile(patch, attempt.task / PREVIOUS_PATCH)
    text = task_text(attempt.checkout(), attempt.draft_run(), request.diagnosis, patch is not None)
    (attempt.task / "task.md").write_text(text, encoding="utf-8")
    told, told_file = told_text(attempt.draft_run(), request.diagnosis, patch is not None), attempt.task / BEFORE
    told_file.unlink(missing_ok=True)
    if told:
        told_file.write_text(told, encoding="utf-8")


def clean_up(client: docker.DockerClient, attempt: AttemptFolder) -> None:
    """What a finished run leaves; only once its record is written, so that a killed driver can still adopt it."""
    remove(client, container_name(attempt))
    shutil.rmtree(attempt.sockets, ignore_errors=True)


def _model(request: PortRequest) -> tuple[Model, str]:
    if request.engine == "scripted":
        if request.script is None:
            raise RequestError("the scripted engine needs a script: --script FOLDER")
        return ScriptedModel(load_script(Path(request.script))), SCRIPTED_MODEL
    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise RequestError(f"--live needs {KEY_VARIABLE} in the environment; it never enters the container.")
    check_budget(_BUDGET, LIVE_MODEL)
    return LiveModel(key), LIVE_MODEL


def _spec(host: AgentHost, attempt: AttemptFolder, tree: Path, model: str) -> ContainerSpec:
    status = _status_dir(attempt)
    status.mkdir(exist_ok=True)
    attempt.roles.mkdir(exist_ok=True)
    attempt.sockets.mkdir(parents=True, exist_ok=True)
    write_task(attempt)  # again: now it is known what was drafted
    for folder in (tree, status, attempt.roles):
        give_to_container_user(folder)
    return ContainerSpec(
        name=container_name(attempt),
        image=host.image,
        attempt=attempt.id,
        command=(
            *_what(attempt),
            *("--work", "/work", "--broker", "/run/broker", "--out", "/status"),
            *("--model", model, "--seconds", str(_INSIDE_SECONDS)),
        ),
        writable={tree: "/work", status: "/status", attempt.roles: _ROLES},
        readable={**host.toolchain.mounts, attempt.sockets: "/run/broker", attempt.task: "/task"},
        environment={TOKEN_VARIABLE: broker_token(attempt)},
        limits=_LIMITS,
    )


def _what(attempt: AttemptFolder) -> tuple[str, ...]:
    """One conversation about `task.md`, or the roles, which begin at a draft if a whole one is there."""
    request, draft = attempt.request(), attempt.draft_run()
    if not request.roles:
        return ("--task", "/task/task.md")
    told = ("--told", f"/task/{BEFORE}") if (attempt.task / BEFORE).is_file() else ()
    drafted = ("--drafted",) if draft is not None and draft.report is not None and draft.report.files else ()
    return ("--roles", _ROLES, "--operator", request.operator, "--arch", _ROLES_ARCH, *drafted, *told)


def broker_token(attempt: AttemptFolder) -> str:
    """The attempt's own; kept, so that a restarted driver knows the agent it finds."""
    path = attempt.path / "broker.token"
    if not path.exists():
        with (
            contextlib.suppress(FileExistsError),
            os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file,
        ):
            file.write(secrets.token_urlsafe(24))
    return path.read_text()


def _watch(progress: Progress, broker: Broker) -> None:
    usage = broker.usage()
    progress.say(broker.last_action(), tokens=usage.input_tokens + usage.output_tokens)


def _keep(attempt: AttemptFolder, finished: Finished) -> None:
    (attempt.path / "agent.log").write_text(finished.log, encoding="utf-8")


def _end(finished: Finished, folder: Path) -> tuple[Literal["finished", "failed", "timed out"], str]:
    """How the run ended and the agent's last words; both only for people, but for finished or not.

    A process that was killed, neither by its limits nor for its memory, was ended by something that is not the agent:
    a daemon that was stopped or went away, a machine that restarted. What it had finished by then is finished.
    """
    status = read_status(folder)
    words = _last_words(folder)
    if finished.overdrawn is not None:
        return "failed", finished.overdrawn
    if finished.exit_code is None:
        return "timed out", f"it outlived its limit of {_LIMITS.seconds / 60:.0f} minutes"
    if finished.out_of_memory:
        return "failed", f"it used more than its {_LIMITS.memory / 2**30:.0f} GiB of memory"
    if finished.exit_code == 0 or (finished.ended_from_outside and status is not None and status.state == "finished"):
        return "finished", words
    if finished.exit_code == _OVERDUE:
        return "timed out", status.exit_reason or words if status is not None else words
    if finished.ended_from_outside:
        raise Transient(
            f"the agent's container was ended from outside (exit status {finished.exit_code}); was Docker stopped or "
            f"restarted? Its last lines:\n{finished.last_lines(8)}"
        )
    if finished.exit_code == _MODEL_STAYED_AWAY:
        raise Transient(f"the model could not be reached: {words or finished.last_lines(3)}")
    if finished.exit_code == _CHECKS_BROKE_DOWN and status is not None:
        raise MachineryError(f"what checks the roles broke down: {status.exit_reason or finished.last_lines(3)}")
    if status is None or status.state in ("starting", "running"):
        raise Transient(
            f"the agent's container ended with status {finished.exit_code} without a word. "
            f"Its last lines:\n{finished.last_lines(8)}"
        )
    return "failed", status.exit_reason or words or f"exit status {finished.exit_code}"


def _last_words(folder: Path) -> str:
    """Of `report.json`; the folder is writable from inside, so nothing but a small plain file is read."""
    path = folder / REPORT_FILE
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_REPORT:
            return ""
        return TypeAdapter(AgentReport).validate_json(path.read_bytes()).summary
    except (OSError, ValidationError):
        return ""


def _status_dir(attempt: AttemptFolder) -> Path:
    return attempt.path / "status"
