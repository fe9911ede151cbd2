"""Processes that outlive the one that started them come to us, and end here: none may touch what is computed later."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_ROUNDS = 20


def adopt() -> None:
    """From now on orphans below this process become its children, however they broke away (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans(spare: Collection[int] = ()) -> int:
    """Kills every child of this process but `spare`, and theirs as they come up; how many there were."""
    ended = 0
    for _ in range(_ROUNDS):
        found = [pid for pid in _children(os.getpid()) if pid not in spare]
        if not found:
            break
        for pid in found:
            ended += _end(pid)
        # What these had started is adopted in a moment.
        time.sleep(0.05)
    return ended


def end_when_told() -> None:
    """A process that is asked to end (SIGTERM) takes what it has started with it: a GPU has to be left free."""

    def end(number: int, _frame: object) -> None:
        end_orphans()
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)


def _end(pid: int) -> int:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return 0
    return 1


def _children(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in brackets may hold anything, spaces and brackets too.
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found
