"""Device time from CUPTI: what ran between two marker kernels, call by call. There is no other clock to fall back to.

CUPTI takes one subscriber a process, so nothing may use torch's profiler before or after. A marker is torch's spin
kernel: it counts clock cycles on the device, so that its duration also tells the clock just before each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

MARKER = "spin_kernel"
OPENING_CYCLES = 20_000
CLOSING_CYCLES = 1_000


class TraceError(Exception):
    """CUPTI is missing, refused, or lost records: nothing can be said about time."""


@dataclass(frozen=True, slots=True)
class Span:
    """One thing the device did, in CUPTI's nanoseconds."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """What one call made the device do."""

    ns: int
    """The sum over everything it launched: kernels, copies and fills."""
    marker_ns: int
    """How long the spin of `OPENING_CYCLES` before it took: the clock."""
    names: tuple[str, ...]
    """In order of start."""


class Tracer:
    """Subscribes once; `calls` runs calls between markers and says what each took."""

    def __init__(self) -> None:
        try:
            from cupti import cupti
        except ImportError as error:
            raise TraceError(
                f"cupti-python cannot be imported ({error}). Install it: pip install cupti-python"
            ) from error
        self._cupti = cupti
        self._found: list[Span] = []
        self._broken: str | None = None
        kinds = cupti.ActivityKind
        self._kernels = (kinds.CONCURRENT_KERNEL, kinds.KERNEL)
        self._names = {kinds.MEMCPY: "[memcpy]", kinds.MEMSET: "[memset]"}
        try:
            cupti.activity_register_callbacks(_buffer, self._completed)
            for kind in (kinds.CONCURRENT_KERNEL, kinds.MEMCPY, kinds.MEMSET):
                cupti.activity_enable(kind)
        except Exception as error:  # cupti-python raises a class of its own per status
            raise TraceError(
                f"CUPTI refused ({error}). It takes one subscriber: end other profilers, and see that the user may "
                "read GPU counters."
            ) from error

    def _completed(self, activities: list[Any]) -> None:
        """Called by CUPTI, where an exception would be lost."""
        try:
            for activity in activities:
                if activity.kind in self._kernels:
                    self._found.append(Span(activity.name, activity.start, activity.end))
                elif activity.kind in self._names:
                    self._found.append(Span(self._names[activity.kind], activity.start, activity.end))
        except Exception as error:  # kept for `spans`, which raises it where it is heard
            self._broken = repr(error)

    def spans(self) -> list[Span]:
        """Everything since the last time, sorted by start."""
        torch.cuda.synchronize()
        self._cupti.activity_flush_all(1)
        if self._broken is not None:
            raise TraceError(f"an activity record could not be read: {self._broken}")
        found, self._found = sorted(self._found, key=lambda span: (span.start, span.end)), []
        return found

    def calls(self, steps: Sequence[tuple[Callable[[], object], Callable[[], object]]]) -> list[Timed]:
        """Runs each `(call, before)`; `before` and what it launches is not counted."""
        self.spans()
        for call, before in steps:
            before()
            spin(OPENING_CYCLES)
            call()
            spin(CLOSING_CYCLES)
            torch.cuda.synchronize()
        return split(self.spans(), len(steps))


def spin(cycles: int) -> None:
    """Launches a kernel that counts `cycles` of the SM clock."""
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]


def event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def _buffer() -> tuple[int, int]:
    return 8 << 20, 0


def split(spans: list[Span], calls: int) -> list[Timed]:
    """What lies between each opening and closing marker. Raises `TraceError` unless there are `calls` such pairs."""
    at = [index for index, span in enumerate(spans) if MARKER in span.name]
    if len(at) != 2 * calls:
        raise TraceError(f"CUPTI recorded {len(at)} markers where {2 * calls} were launched: it lost records")
    found = []
    for opening, closing in zip(at[::2], at[1::2], strict=True):
        inside = spans[opening + 1 : closing]
        if not inside:
            raise TraceError("CUPTI recorded nothing between two markers: the call launched nothing on the device")
        found.append(
            Timed(
                ns=sum(span.end - span.start for span in inside),
                marker_ns=spans[opening].end - spans[opening].start,
                names=tuple(span.name for span in inside),
            )
        )
    return found
