"""What came out of the timing of one operator: frozen records, the same on disk, in the terminal and in the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tileport_skill.timing.statistics import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The lower end of the interval is at the rule or above it."""

    verdict: Literal["passed"] = "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The port is at fault: too slow, not shown to be fast enough by a sharp interval, wrong, or not run at all."""

    verdict: Literal["failed"] = "failed"
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconclusive:
    """The measurement is at fault: nothing follows about the port."""

    verdict: Literal["inconclusive"] = "inconclusive"
    reasons: tuple[str, ...]


Verdict = Passed | Failed | Inconclusive


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRun:
    """Nothing was measured, with what to do about it."""

    why: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """One side's searches on one row."""

    configurations: int
    chosen: tuple[str, ...]
    """The winner of each search; empty for an operator that does not tune."""
    dropped: tuple[tuple[str, str], ...]
    """Configurations that fell out, with why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of one row; times in microseconds, medians over processes, in units of CUDA events."""

    backend: str
    cold_us: float | None
    warm_us: float | None
    event_us: float | None
    host_us: float | None
    """Host time until a call returns."""
    host_done_us: float | None
    """Host time of a call until the device is done, calls one after another."""
    kernels: tuple[str, ...]
    tuned: Tuned


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What the GPU was like while a row was measured."""

    sm_mhz: tuple[int, int] | None
    """NVML's lowest and highest reading around the row."""
    clock_spread: float | None
    """By how much the clock varied over all calls, by their markers: highest ÷ lowest - 1, outermost 1 % aside."""
    throttle: tuple[str, ...]
    """Every reason NVML gave for clocks below their maximum, besides being idle."""
    celsius: tuple[int, int] | None
    others: int | None
    """Processes of others on the GPU, the most seen at once; None if NVML does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """One row, judged."""

    operator: str
    row: str
    verdict: Verdict
    cold: Interval | None
    """Reference ÷ port with a cold L2: what the rule is about."""
    warm: Interval | None
    null: Interval | None
    """The reference against itself."""
    detectable: float | None
    """The smallest relative difference this many processes would show."""
    processes: int
    blocks: int
    """With a cold L2: both sides, and the reference against itself."""
    set_aside: int
    """Of those, blocks not counted: the clock moved in them, or heat or power supply slowed the GPU down."""
    largest_difference: float | None
    """Between the two sides' outputs."""
    reference: Side
    port: Side
    conditions: Conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One operator on one machine."""

    operator: str
    baseline: str
    candidate: str
    verdict: Verdict
    rows: tuple[RowResult, ...]
    geometric_mean: float | None
    """Of the cold ratios that were measured."""
    cupti_factor: float | None
    """CUPTI's nanoseconds ÷ CUDA events', a constant of the host."""
    unproven: str | None
    """Why results against this baseline are not counted as proof; None for the reference."""
    machine: dict[str, Any]
    why_rows: str
    """Where the rows come from, and why these."""
