"""Writes that must happen once: look first, and look again before a write whose answer was lost is made again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from tileport_bot.github import Unsure

T = TypeVar("T")
DELAYS = (1.0, 4.0, 15.0)


def once(
    find: Callable[[], T | None],
    create: Callable[[], T],
    *,
    delays: tuple[float, ...] = DELAYS,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """What `find` finds, else what `create` makes. Only `Unsure` is tried again: the write may have been made."""
    there = find()
    for delay in delays:
        if there is not None:
            return there
        try:
            return create()
        except Unsure:
            sleep(delay)
            there = find()
    return there if there is not None else create()
