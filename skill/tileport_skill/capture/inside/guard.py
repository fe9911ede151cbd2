"""Keeps one test from harming the next, and the child from outliving its parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Once the process that waits for this one is gone, nobody reads its answer."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before we asked
        os._exit(1)


class TestTimedOut(BaseException):
    """Raised inside a test that took too long; no `Exception`, so that no operator swallows it."""

    __test__ = False


@contextlib.contextmanager
def time_limit(seconds: float, *, of_processor: bool = False) -> Iterator[None]:
    """Interrupts what runs longer, if it runs Python: what hangs in C is left to the session's own limit.

    Time `of_processor` is the same on a machine that others keep busy.
    """

    def end(_signal: int, _frame: object) -> None:
        raise TestTimedOut(f"ended after {seconds:.0f} s")

    timer, number = (signal.ITIMER_PROF, signal.SIGPROF) if of_processor else (signal.ITIMER_REAL, signal.SIGALRM)
    before = signal.signal(number, end)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


class TorchAsItWas:
    """Torch's functions as they are now, to be put back after tests that replace some for good."""

    def __init__(self) -> None:
        self._places: list[Any] = [torch, torch.Tensor, torch.cuda, torch.testing, torch.nn.functional, torch.autograd]
        self._kept = [dict(vars(place)) for place in self._places]

    def restore(self) -> None:
        for place, kept in zip(self._places, self._kept, strict=True):
            now = vars(place)
            for name, value in kept.items():
                if now.get(name) is not value and not isinstance(value, ModuleType):
                    setattr(place, name, value)
