"""CUPTI's clock against CUDA events': one constant factor, or neither can be trusted. Pure: numbers in, numbers out.

A pass times copies of several lengths by both. Events around a series of copies take a few microseconds longer than the
copies, and now and then much longer, when the host was too slow to keep the device busy: that is theirs, and grows with
nothing. So a pass's factor is the slope between its two longest copies, where a constant cancels, and for each length
the median over all passes is held against a straight line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONSTANT = 0.01
"""How far a pass's factor, or a length's median, may lie from the one factor."""
MOST_OFFSET_NS = 20_000
"""What events may add to a series of copies; they cannot take anything away but noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One length of copy, by both clocks."""

    megabytes: int
    cupti_ns: int
    event_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """CUPTI's nanoseconds ÷ CUDA events'; `problem` says why there is no such constant."""

    value: float
    problem: str | None


def factor_of(passes: Sequence[Sequence[Point]]) -> Factor | None:
    """None without a pass of at least two lengths."""
    usable = [sorted(points, key=lambda point: point.megabytes) for points in passes if len(points) > 1]
    if not usable:
        return None
    slopes = [_slope(points[-2], points[-1]) for points in usable]
    value = float(np.median(slopes))
    return Factor(value=value, problem=_problem(usable, slopes, value))


def _problem(passes: Sequence[Sequence[Point]], slopes: Sequence[float], value: float) -> str | None:
    if min(slopes) <= 0 or max(slopes) / min(slopes) - 1 > 2 * CONSTANT:
        return f"between {min(slopes):.4f} and {max(slopes):.4f} in different processes"
    offset = float(np.median([points[-1].event_ns - points[-1].cupti_ns / value for points in passes]))
    if not -CONSTANT * MOST_OFFSET_NS <= offset <= MOST_OFFSET_NS:
        return f"events add {offset / 1000:.1f} µs to the longest copies"
    for megabytes in sorted({point.megabytes for points in passes for point in points}):
        same = [point for points in passes for point in points if point.megabytes == megabytes]
        apart = float(np.median([(point.cupti_ns / value + offset) / point.event_ns - 1 for point in same]))
        if abs(apart) > CONSTANT:
            return f"copies of {megabytes} MiB are {apart:+.1%} off the factor {value:.4f} of the longest"
    return None


def _slope(short: Point, long: Point) -> float:
    if long.event_ns <= short.event_ns:
        return 0.0
    return (long.cupti_ns - short.cupti_ns) / (long.event_ns - short.event_ns)
