"""Containers: started detached under a natural name, limited, polled from outside, adopted when found again.

"Their command failed" is an exit status in a record; "our machinery failed" is a `MachineryError`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import LogConfig, Mount, Ulimit

from tileport_driver.failures import Transient
from tileport_driver.host.paths import containers_dir, state_dir
from tileport_driver.host.processes import identity, running_for
from tileport_skill.errors import MachineryError

ATTEMPT_LABEL = "org.tileport.attempt"
STATE_LABEL = "org.tileport.state"
"""The state folder whose attempt it is: another's containers on the same engine are nobody's business."""
MAKER_LABEL = "org.tileport.maker"
"""The process that made a container that belongs to no attempt (`host/processes.py`)."""
_GIB = 2**30
_POLL_SECONDS = 0.5
_UNPRIVILEGED = 10001
_KILLED = (137, 143, 255)
"""By a signal; and what an engine says that lost sight of a container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one container may use."""

    memory: int = 8 * _GIB
    """Bytes; no swap beyond it."""
    cpus: float = 2.0
    processes: int = 512
    seconds: float = 1800.0
    """Wall-clock time, kept from outside: needs nobody's cooperation."""
    silence: float = 300.0
    """How long a container that gives signs of life may be without one while Docker calls it running."""
    largest_file: int = 8 * _GIB


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """One container, whole. Paths of `writable` and `readable` are host folder -> folder inside."""

    name: str
    image: str
    command: tuple[str, ...]
    attempt: str
    writable: Mapping[Path, str] = field(default_factory=dict)
    readable: Mapping[Path, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    entrypoint: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a container ended. `exit_code` None: it outlived its time and was killed."""

    exit_code: int | None
    seconds: float
    log: str
    out_of_memory: bool = False
    overdrawn: str | None = None
    """What it used too much of, and was killed for."""

    @property
    def ended_from_outside(self) -> bool:
        """Killed, but neither by us nor for its memory: a daemon went away under it, a machine restarted."""
        return self.exit_code in _KILLED and not self.out_of_memory

    def last_lines(self, count: int) -> str:
        return "\n".join(self.log.strip().splitlines()[-count:])


def container_user() -> int:
    """Inside and outside the user is one: the caller, or an unprivileged number when the caller is root."""
    return os.getuid() or _UNPRIVILEGED


def start_or_adopt(client: docker.DockerClient, spec: ContainerSpec) -> Container:
    """The container of that name: found again if it exists, else created and started."""
    with as_machinery("starting a container"):
        try:
            container = client.containers.get(spec.name)
        except NotFound:
            container = _create(client, spec)
        if container.status == "created":
            _start(container)
        return container


def _start(container: Container) -> None:
    """One that a daemon cannot start, as it was killed while it started it, goes: the next try makes it anew.

    Left alone, Docker would call it ended with 128, as if its program had been run.
    """
    try:
        container.start()
    except APIError:
        with contextlib.suppress(DockerException):
            container.remove(force=True)
        raise


def wait(
    container: Container,
    limits: Limits,
    tick: Callable[[], None],
    stop: Callable[[], bool],
    beat: Callable[[], object] = lambda: None,
) -> Finished:
    """Polls until the container ends or outlives its limit, calling `tick` each time.

    Raises `Stopped` when `stop` says so; the container is stopped then, and kept. Raises `Transient` when Docker calls
    it running and `beat` has stood still for too long: then one of the two is not to be believed. `beat` may also raise
    `Overdrawn`, which ends the container.
    """
    clock = _Clock()
    while True:
        with as_machinery("asking for a container's state"):
            container.reload()
        state = container.attrs["State"]
        seconds = clock.since(state)
        if not state["Running"] and state["Status"] in ("exited", "dead"):
            return _finished(container, state, seconds, state["ExitCode"])
        if seconds > limits.seconds:
            _kill(container)
            return _finished(container, state, seconds, None)
        if stop():
            _kill(container)
            raise Stopped
        try:
            silent = clock.silent(beat())
        except Overdrawn as overdrawn:
            _kill(container)
            return replace(_finished(container, state, seconds, None), overdrawn=str(overdrawn))
        if silent > limits.silence:
            _kill(container)
            raise Transient(
                f"Docker calls {container.name} running, but it has given no sign of life for {silent:.0f} s. "
                "Is the engine well? (docker info)"
            )
        tick()
        time.sleep(_POLL_SECONDS)


class _Clock:
    """A container's age and silence by the monotonic clock: this machine's may jump while the container runs."""

    def __init__(self) -> None:
        self._first_look = self._last_change = time.monotonic()
        self._age_then: float | None = None
        self._last_beat: object = None

    def since(self, state: Mapping[str, Any]) -> float:
        if self._age_then is None:
            running = running_for(state["Pid"]) if state["Running"] else None
            self._age_then = _seconds_since(state["StartedAt"]) if running is None else running
        return self._age_then + time.monotonic() - self._first_look

    def silent(self, beat: object) -> float:
        """Seconds since `beat` last changed; none for a container that has none."""
        now = time.monotonic()
        if beat is None or beat != self._last_beat:
            self._last_beat, self._last_change = beat, now
        return now - self._last_change


class Overdrawn(Exception):
    """The container used more of something than it may; the text says what."""


class Stopped(Exception):
    """The user asked to stop; the attempt can be resumed."""


def exists(client: docker.DockerClient, name: str) -> bool:
    """Whether there is a container of that name, running or not."""
    with as_machinery("looking for a container"):
        try:
            client.containers.get(name)
        except NotFound:
            return False
    return True


def remove(client: docker.DockerClient, name: str) -> None:
    """Removes a container and its anonymous volumes, whether it runs or not; fine if there is none."""
    with as_machinery("removing a container"), contextlib.suppress(NotFound):
        client.containers.get(name).remove(force=True, v=True)


def run_to_end(
    client: docker.DockerClient,
    *,
    image: str,
    name: str,
    command: list[str],
    writable: Mapping[Path, str],
    readable: Mapping[Path, str],
    seconds: float,
) -> Finished:
    """A command of our own in a container of its own, start to removal. Runs as the caller."""
    spec = ContainerSpec(
        name=name,
        image=image,
        command=tuple(command),
        attempt="none",
        writable=writable,
        readable=readable,
        limits=Limits(seconds=seconds),
    )
    for folder in writable:
        give_to_container_user(folder)
    remove(client, name)
    try:
        container = start_or_adopt(client, spec)
        return wait(container, spec.limits, tick=lambda: None, stop=lambda: False)
    finally:
        remove(client, name)


def give_to_container_user(folder: Path) -> None:
    """Lets the container's user write below `folder`; only root can and must change owners."""
    if os.getuid() != 0:
        return
    uid = container_user()
    os.chown(folder, uid, uid)
    for root, folders, files in os.walk(folder):
        for entry in (*folders, *files):
            os.lchown(Path(root) / entry, uid, uid)


def _create(client: docker.DockerClient, spec: ContainerSpec) -> Container:
    mounts = [Mount(inside, str(outside.resolve()), type="bind") for outside, inside in spec.writable.items()]
    mounts += [
        Mount(inside, str(outside.resolve()), type="bind", read_only=True) for outside, inside in spec.readable.items()
    ]
    uid = container_user()
    try:
        return client.containers.create(
            spec.image,
            list(spec.command),
            name=spec.name,
            entrypoint=list(spec.entrypoint) if spec.entrypoint is not None else None,
            labels={
                ATTEMPT_LABEL: spec.attempt,
                STATE_LABEL: str(state_dir().resolve()),
                MAKER_LABEL: identity(os.getpid()),
            },
            environment=dict(spec.environment),
            mounts=mounts,
            user=f"{uid}:{uid}",
            detach=True,
            init=True,
            network_mode="none",
            read_only=True,
            tmpfs={"/tmp": "size=4g,mode=1777,exec"},
            mem_limit=spec.limits.memory,
            memswap_limit=spec.limits.memory,
            nano_cpus=int(min(spec.limits.cpus, os.cpu_count() or 1) * 1e9),
            pids_limit=spec.limits.processes,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", f"seccomp={_seccomp_profile()}"],
            ipc_mode="private",
            ulimits=[
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="fsize", soft=spec.limits.largest_file, hard=spec.limits.largest_file),
            ],
            log_config=LogConfig(type="json-file", config={"max-size": "16m", "max-file": "1"}),
        )
    except ImageNotFound as missing:
        raise MachineryError(f"the image {spec.image} is gone; resume the attempt to build it again.") from missing


def _seccomp_profile() -> str:
    return (containers_dir() / "seccomp.json").read_text(encoding="utf-8")


def _finished(container: Container, state: Mapping[str, object], seconds: float, code: int | None) -> Finished:
    with as_machinery("reading a container's log"):
        log = container.logs(tail=20_000).decode("utf-8", errors="replace")
    return Finished(exit_code=code, seconds=seconds, log=log, out_of_memory=bool(state.get("OOMKilled")))


def _kill(container: Container) -> None:
    with contextlib.suppress(APIError):
        container.kill()


def _seconds_since(started: str) -> float:
    """Docker writes nanoseconds and a zone; a container that never started says year 1."""
    moment = datetime.fromisoformat(started.split(".")[0].rstrip("Z") + "+00:00")
    return max(0.0, (datetime.now(UTC) - moment).total_seconds()) if moment.year > 1 else 0.0


@contextlib.contextmanager
def as_machinery(what: str) -> Iterator[None]:
    """Whatever goes wrong in talking to Docker is our machinery's failure and may be over soon."""
    try:
        yield
    except (DockerException, OSError) as error:
        raise Transient(f"Docker failed while {what}: {error}. The attempt can be resumed.") from error
