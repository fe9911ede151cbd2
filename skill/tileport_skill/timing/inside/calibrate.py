"""CUPTI's nanoseconds against CUDA events': known copies of several lengths are timed by both.

On some hosts CUPTI's spans are a constant multiple of what events say. A constant does no harm to ratios; anything else
means that one of the two clocks cannot be trusted, and nothing is measured then.
"""

from __future__ import annotations

import torch

from tileport_skill.timing.clocks import Point
from tileport_skill.timing.inside.cupti import MARKER, TraceError, Tracer, event, spin

_MEGABYTES = (64, 256, 1024)
_REPEATS = 20
_HIDE_LAUNCHES = 10_000_000
"""Cycles the device spins while the host launches: afterwards the copies run back to back."""


def calibrate(tracer: Tracer) -> tuple[Point, ...]:
    """A point for each length, the median of three. The caller decides whether one factor fits them."""
    found = []
    for megabytes in _MEGABYTES:
        source = torch.empty(megabytes << 18, device="cuda", dtype=torch.float32).zero_()
        target = torch.empty_like(source)
        torch.add(source, 1.0, out=target)
        runs = sorted((_both(tracer, source, target) for _ in range(3)), key=lambda pair: pair[0] / pair[1])
        cupti_ns, event_ns = runs[1]
        found.append(Point(megabytes=megabytes, cupti_ns=cupti_ns, event_ns=event_ns))
    return tuple(found)


def _both(tracer: Tracer, source: torch.Tensor, target: torch.Tensor) -> tuple[int, int]:
    before, after = event(), event()
    tracer.spans()
    spin(_HIDE_LAUNCHES)
    before.record()
    for _ in range(_REPEATS):
        torch.add(source, 1.0, out=target)
    after.record()
    spans = [span for span in tracer.spans() if MARKER not in span.name]
    if len(spans) != _REPEATS:
        raise TraceError(f"CUPTI recorded {len(spans)} of {_REPEATS} kernels while it was calibrated")
    return spans[-1].end - spans[0].start, round(before.elapsed_time(after) * 1e6)
