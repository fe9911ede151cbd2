"""Ratios and how sure they are, from paired blocks of fresh processes. Pure: numbers in, numbers out.

A block is four calls, ABBA or BAAB; its log-ratio cancels every drift that is linear over the block. A process is one
number, the median of its blocks, which a few disturbed blocks do not move. Processes are what is resampled: blocks of
one process share its memory layout and its compiled code, so they are no independent evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

RESAMPLES = 5_000
_SEED = 20_240_229
"""Any; fixed, so that the same samples always give the same interval."""

_T_975: tuple[float, ...] = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
)
_T_975 += (2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
"""Student's t at 0.975 for 1 to 30 degrees of freedom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A ratio of times, reference ÷ port, with its 95 % interval: above 1 the port is faster."""

    low: float
    ratio: float
    high: float

    @property
    def width(self) -> float:
        """Relative to the ratio."""
        return (self.high - self.low) / self.ratio


def block_log_ratio(order: str, times: Sequence[float]) -> float:
    """ln(A ÷ B) of one block; `order` says which of its times is whose."""
    a = [math.log(time) for letter, time in zip(order, times, strict=True) if letter == "A"]
    b = [math.log(time) for letter, time in zip(order, times, strict=True) if letter == "B"]
    return sum(a) / len(a) - sum(b) / len(b)


def process_log_ratio(blocks: Sequence[float]) -> float:
    """One process's answer: the median of its blocks."""
    return float(np.median(blocks))


def interval(processes: Sequence[float]) -> Interval:
    """The 95 % interval of the mean over processes, by a bootstrap over processes.

    Percentiles of a bootstrap of few values are too narrow. They are taken further out here, by as much as Student's t
    and the divisor n - 1 widen an interval for normal values (Hesterberg's expanded percentile interval), and never
    lie within Student's own interval: of six values even the expanded one covers only 92 %.
    """
    values = np.asarray(processes, dtype=float)
    if len(values) < 2:
        raise ValueError("one process says nothing about how sure it is")
    mean = float(values.mean())
    chosen = np.random.default_rng(_SEED).integers(len(values), size=(RESAMPLES, len(values)))
    means = np.sort(values[chosen].mean(axis=1))
    tail = NormalDist().cdf(-math.sqrt(len(values) / (len(values) - 1)) * t_975(len(values) - 1))
    low, high = np.quantile(means, (tail, 1 - tail))
    half = t_975(len(values) - 1) * _standard_error(values)
    return Interval(low=math.exp(min(low, mean - half)), ratio=math.exp(mean), high=math.exp(max(high, mean + half)))


def minimum_detectable(processes: Sequence[float]) -> float | None:
    """The smallest relative difference that would be seen four times in five; None for fewer than two processes."""
    if len(processes) < 2:
        return None
    error = _standard_error(processes)
    return math.expm1((t_975(len(processes) - 1) + NormalDist().inv_cdf(0.8)) * error)


def _standard_error(values: Sequence[float] | np.ndarray) -> float:
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def geometric_mean(ratios: Sequence[float]) -> float | None:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def t_975(freedom: int) -> float:
    """Student's t at 0.975; beyond the table by its expansion around the normal quantile."""
    if freedom <= len(_T_975):
        return _T_975[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom)
