"""What an attempt is doing right now, for whoever watches: written by the stages, read by the terminal and the bot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum


class Stage(StrEnum):
    """The stages of an attempt, in order; the bot's status comment uses the same words."""

    PREPARING = "preparing"
    RUNNING = "running"
    CAPTURED = "captured"
    CHECKING = "checking"
    PUBLISHING = "publishing"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One look at a running attempt. Seconds count from this process's start of the attempt or stage."""

    stage: Stage
    seconds: float
    stage_seconds: float
    tokens: int
    """Tokens of the conversation so far, in and out."""
    action: str
    """The last thing done, a few words."""


class Progress:
    """Shared by the thread that works and the one that shows. `on_stage` hears of each new stage once."""

    def __init__(self, on_stage: Callable[[Stage], None] = lambda stage: None) -> None:
        self._lock = threading.Lock()
        self.on_stage = on_stage
        self._started = self._stage_started = time.monotonic()
        self._now = Snapshot(stage=Stage.PREPARING, seconds=0, stage_seconds=0, tokens=0, action="")

    def enter(self, stage: Stage) -> None:
        with self._lock:
            self._stage_started = time.monotonic()
            self._now = replace(self._now, stage=stage, action="")
        self.on_stage(stage)

    def say(self, action: str, tokens: int | None = None) -> None:
        with self._lock:
            self._now = replace(self._now, action=action, tokens=self._now.tokens if tokens is None else tokens)

    def look(self) -> Snapshot:
        now = time.monotonic()
        with self._lock:
            return replace(self._now, seconds=now - self._started, stage_seconds=now - self._stage_started)
