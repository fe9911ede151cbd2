"""The agent's sign of life: `status.json`, written atomically every few seconds, read by the driver from
outside."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

from pydantic import TypeAdapter, ValidationError

STATUS_FILE = "status.json"
_MAX_BYTES = 65_536

State = Literal["starting", "running", "finished", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStatus:
    """How the agent stands. It is the agent's own word: for progress and for noticing silence, never for
    judging."""

    state: State
    stage: str
    """What it is doing now, for a person: `asking the model`, `running bash`."""
    turn: int
    """Answers of the model so far."""
    started: float
    updated: float
    """Both in seconds since the epoch, by the container's clock."""
    beat: int
    """Goes up with every writing. A reader measures silence with its own monotonic clock on this number, so a
    clock that jumps looks neither like death nor like life."""
    last_action: str
    """`bash: cargo build`, `create kernel.rs`."""
    role: str | None = None
    """Whose conversation it is, in a port by roles."""
    exit_reason: str | None = None
    """Set once the state is `finished` or `failed`."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


_ADAPTER = TypeAdapter(AgentStatus)


def read_status(folder: Path) -> AgentStatus | None:
    """The status in `folder`, or None where there is none that can be believed to be one.

    The folder is writable from inside the container, so no link is followed and no more is read than a
    status has.
    """
    try:
        handle = os.open(folder / STATUS_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return _ADAPTER.validate_json(os.read(handle, _MAX_BYTES))
    except (ValidationError, OSError):
        return None
    finally:
        os.close(handle)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Written beside and renamed, so a reader sees the old document or the new one and never half of one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8", errors="replace")
    beside.replace(path)


def _reason(error: BaseException) -> str:
    said = str(error) if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    return said[:2000]


class StatusBoard:
    """Keeps `status.json` fresh from a thread of its own, whatever the conversation is waiting for."""

    def __init__(self, folder: Path, *, interval: float = 2.0, on_beat: Callable[[], None] | None = None) -> None:
        now = time.time()
        self._path = folder / STATUS_FILE
        self._interval = interval
        self._on_beat = on_beat
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="status", daemon=True)
        self._status = AgentStatus(
            state="starting", stage="starting", turn=0, started=now, updated=now, beat=0, last_action=""
        )

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.update()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        if error is not None:
            self.update(state="failed", stage="ended", exit_reason=_reason(error))

    @property
    def status(self) -> AgentStatus:
        return self._status

    def update(self, **changes: Any) -> None:
        with self._lock:
            self._status = replace(self._status, **changes, beat=self._status.beat + 1, updated=time.time())
            try:
                write_json(self._path, asdict(self._status))
            except OSError:
                # A full disk must not end the conversation; the driver sees the silence, and the next beat
                # tries again.
                return

    def _beat(self) -> None:
        while not self._stopping.wait(self._interval):
            self.update()
            if self._on_beat is not None:
                self._on_beat()
