"""Hands back the records of the stand-in clock."""

from types import SimpleNamespace

import standin_clock

_completed = []


ActivityKind = SimpleNamespace(CONCURRENT_KERNEL=1, KERNEL=2, MEMCPY=3, MEMSET=4)


def activity_register_callbacks(_requested, completed):
    _completed.append(completed)


def activity_enable(_kind):
    pass


def activity_flush_all(_flag):
    found, standin_clock.records[:] = list(standin_clock.records), []
    for completed in _completed:
        completed(found)
