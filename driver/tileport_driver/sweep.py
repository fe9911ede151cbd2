"""What earlier runs left on this machine: alive and ours is gone on with, orphaned and ours is removed, no more.

Ours is what carries this state folder's label, and work trees and sockets of this folder's attempts. `judge_containers`
decides and is pure; the rest looks and acts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import docker

from tileport_driver.alone import is_worked_on
from tileport_driver.container import ATTEMPT_LABEL, MAKER_LABEL, STATE_LABEL, as_machinery, remove
from tileport_driver.host.paths import runtime_dir, state_dir
from tileport_driver.host.processes import alive
from tileport_driver.store import AttemptFolder, all_attempts, left_judgements

Standing = Literal["unknown", "ended", "worked on", "left"]
"""Of an attempt: no folder here, with an outcome, with a live driver, or neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One container of ours."""

    name: str
    attempt: str
    maker: str
    """The process that made it (`host/processes.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep did and found."""

    removed: tuple[str, ...]
    """Containers, volumes, trees and sockets, by name."""
    left: tuple[str, ...]
    """Attempts without a driver that can be gone on with."""


def judge_containers(
    seen: tuple[Seen, ...], standing: Callable[[str], Standing], lives: Callable[[str], bool]
) -> tuple[str, ...]:
    """The containers that nobody will come back for. One of no attempt here may be of a judgement under way."""
    return tuple(
        one.name
        for one in seen
        if (stands := standing(one.attempt) if one.attempt != "none" else "unknown") == "ended"
        or (stands == "unknown" and not lives(one.maker))
    )


def sweep(client: docker.DockerClient) -> Swept:
    """Removes what is orphaned. Raises `Transient` if Docker does not answer."""
    attempts = {attempt.id: attempt for attempt in all_attempts()}
    sockets = {path.name for path in runtime_dir().iterdir()}
    littered = {name for name, one in attempts.items() if one.work.exists() or one.sockets_name in sockets}
    stands = {name: _standing(attempt, name in littered) for name, attempt in attempts.items()}
    seen, volumes = _look(client)
    orphans = judge_containers(seen, lambda name: stands.get(name, "unknown"), lambda maker: alive(maker) is not None)
    removed = [f"container {name}" for name in orphans]
    for name in orphans:
        remove(client, name)
    for name, attempt in volumes:
        if stands.get(attempt, "unknown") in ("unknown", "ended"):
            with as_machinery("removing a volume"):
                client.volumes.get(name).remove(force=True)
            removed.append(f"volume {name}")
    for name in sorted(littered):
        if stands[name] == "ended":
            removed += _remove_leftovers(attempts[name])
    for judgement in left_judgements():
        if not is_worked_on(judgement):
            shutil.rmtree(judgement.work, ignore_errors=True)
            removed.append(f"trees of judgement {judgement.id}")
    return Swept(removed=tuple(removed), left=tuple(name for name, stand in stands.items() if stand == "left"))


def _standing(attempt: AttemptFolder, littered: bool) -> Standing:
    # Of thousands that ended long ago and left nothing none is locked.
    if (attempt.path / "outcome.json").is_file():
        return "worked on" if littered and is_worked_on(attempt) else "ended"
    return "worked on" if is_worked_on(attempt) else "left"


def _look(client: docker.DockerClient) -> tuple[tuple[Seen, ...], list[tuple[str, str]]]:
    mine: dict[str, Any] = {"label": f"{STATE_LABEL}={state_dir().resolve()}"}
    with as_machinery("looking for what earlier runs left"):
        containers = client.containers.list(all=True, filters=mine, ignore_removed=True)
        volumes = client.volumes.list(filters=mine)
    seen = []
    for container in containers:
        seen.append(
            Seen(
                name=str(container.name),
                attempt=container.labels.get(ATTEMPT_LABEL, "none"),
                maker=container.labels.get(MAKER_LABEL, ""),
            )
        )
    labels = [(str(volume.name), (volume.attrs.get("Labels") or {}).get(ATTEMPT_LABEL, "")) for volume in volumes]
    return tuple(seen), labels


def _remove_leftovers(attempt: AttemptFolder) -> list[str]:
    removed = []
    if attempt.work.exists() and not attempt.request().keep:
        shutil.rmtree(attempt.work, ignore_errors=True)
        removed.append(f"trees of {attempt.id}")
    if attempt.sockets.exists():
        shutil.rmtree(attempt.sockets, ignore_errors=True)
        removed.append(f"socket of {attempt.id}")
    return removed
