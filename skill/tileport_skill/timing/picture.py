"""Ratios as a picture and as text: one line a row, a logarithmic scale, the 95 % interval of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.pages.render import render
from tileport_skill.timing.judging import RULE
from tileport_skill.timing.records import Failed, Passed, RowResult, Timing, Verdict
from tileport_skill.timing.statistics import Interval

_TEMPLATE = Path(__file__).parent / "templates" / "ratios.svg.j2"
_TICKS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0)
_LEFT, _PLOT, _RIGHT = 370, 440, 160
_LINE, _TOP, _BOTTOM = 26, 74, 46
_NARROWEST = (0.88, 1.12)
"""The scale shows at least this much, so that half a percent does not fill the picture."""
_TICK_GAP = 38
_NAME = 46
_BAR = 41
"""Characters of a text bar."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A logarithmic axis."""

    low: float
    high: float
    length: float

    def at(self, ratio: float) -> float:
        """Where `ratio` lies, kept within the axis."""
        inside = min(max(ratio, self.low), self.high)
        return self.length * math.log(inside / self.low) / math.log(self.high / self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """An interval in the picture."""

    low: float
    at: float
    high: float


def svg(timings: Sequence[Timing]) -> str:
    """One picture of all rows of `timings`, a heading for each operator."""
    intervals = [found for timing in timings for row in timing.rows for found in (row.cold, row.warm) if found]
    scale = _scale(intervals, _PLOT)
    lines: list[dict[str, object]] = []
    y = _TOP
    for timing in timings:
        lines.append({"heading": _heading(timing), "y": y + 6})
        y += _LINE
        for row in timing.rows:
            lines.append(_line(row, scale, y))
            y += _LINE
        y += _LINE // 2
    return render(
        _TEMPLATE,
        width=_LEFT + _PLOT + _RIGHT,
        height=y + _BOTTOM,
        left=_LEFT,
        plot=_PLOT,
        top=_TOP - 16,
        bottom=y,
        ticks=[{"x": _LEFT + scale.at(tick), "text": f"{tick:g}"} for tick in _ticks(scale)],
        rule=_LEFT + scale.at(RULE),
        one=_LEFT + scale.at(1.0),
        lines=lines,
        title=_title(timings),
        machine=_machine(timings),
    )


def text(timing: Timing) -> str:
    """The same where a picture cannot stand: `·` is the interval, `|` the rule, `o` the ratio."""
    intervals = [row.cold for row in timing.rows if row.cold is not None]
    scale = _scale(intervals, _BAR - 1)
    width = max((len(row.row) for row in timing.rows), default=0)
    return "\n".join(f"{row.row:<{width}}  {_bar(row.cold, scale)}  {_ratio(row)}" for row in timing.rows)


def word(verdict: Verdict) -> str:
    """The class of a verdict in the stylesheet."""
    return "good" if isinstance(verdict, Passed) else "bad" if isinstance(verdict, Failed) else "open"


def _scale(intervals: Sequence[Interval], length: float) -> Scale:
    low = min([_NARROWEST[0], *[found.low for found in intervals if found.low > 0]])
    high = max([_NARROWEST[1], *[found.high for found in intervals]])
    return Scale(low / 1.02, high * 1.02, length)


def _ticks(scale: Scale) -> list[float]:
    """Those in range and not too near each other; 1 and the rule's neighbours are kept first."""
    found: list[float] = []
    for tick in sorted(_TICKS, key=lambda tick: abs(math.log(tick))):
        if scale.low < tick < scale.high and all(abs(scale.at(tick) - scale.at(other)) >= _TICK_GAP for other in found):
            found.append(tick)
    return sorted(found)


def _line(row: RowResult, scale: Scale, y: int) -> dict[str, object]:
    return {
        "name": row.row if len(row.row) <= _NAME else f"{row.row[: _NAME - 1]}…",
        "whole": row.row,
        "y": y,
        "kind": word(row.verdict),
        "cold": _mark(row.cold, scale),
        "warm": _mark(row.warm, scale),
        "null": _mark(row.null, scale),
        "text": _ratio(row),
    }


def _mark(found: Interval | None, scale: Scale) -> _Mark | None:
    if found is None:
        return None
    return _Mark(low=_LEFT + scale.at(found.low), at=_LEFT + scale.at(found.ratio), high=_LEFT + scale.at(found.high))


def _ratio(row: RowResult) -> str:
    if row.cold is None:
        return f"- {row.verdict.verdict}"
    return f"{row.cold.ratio:.3f} {row.verdict.verdict}"


def _heading(timing: Timing) -> str:
    mean = "" if timing.geometric_mean is None else f", geometric mean {timing.geometric_mean:.3f}"
    return f"{timing.operator}: {timing.verdict.verdict}{mean}"


def _title(timings: Sequence[Timing]) -> str:
    sides = sorted({f"{timing.baseline} ÷ {timing.candidate}" for timing in timings})
    return f"Device time, {', '.join(sides)}: right of 1 the port is faster"


def _machine(timings: Sequence[Timing]) -> str:
    names = sorted({str(timing.machine.get("gpu", "unknown GPU")) for timing in timings})
    return f"{', '.join(names)}; 95 % intervals over fresh processes; the rule is {RULE}"


def _bar(found: Interval | None, scale: Scale) -> str:
    cells = [" "] * _BAR
    if found is not None:
        for cell in range(round(scale.at(found.low)), round(scale.at(found.high)) + 1):
            cells[cell] = "·"
    cells[round(scale.at(RULE))] = "|"
    if found is not None:
        cells[round(scale.at(found.ratio))] = "o"
    return "".join(cells)
