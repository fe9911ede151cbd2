"""Measured rows as bars of text, since a pull request shows no SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tileport_bot.driver import TimedRow

_LOW, _HIGH, _WIDTH = 0.7, 1.3, 40
RULE = 0.95
_LONGEST_NAME = 44


def text_bars(rows: Sequence[TimedRow]) -> str:
    """A line for each row, slowest first; empty for no rows. What lies off the scale touches its edge."""
    if not rows:
        return ""
    rows = sorted(rows, key=lambda row: row.low)
    names, figures = [_short(row.row) for row in rows], [_figures(row) for row in rows]
    left, middle = max(map(len, names)), max(map(len, figures))
    # The figures first: on a phone the bar is what is cut off.
    head = f"{'':{left + middle + 4}}{_LOW:<{_at(1.0) - 2}.2f}{'1.00':<{_WIDTH - _at(1.0) - 2}}{_HIGH:.2f}"
    lines = [
        f"{name:{left}}  {figure:{middle}}  {_bar(row)}" for name, figure, row in zip(names, figures, rows, strict=True)
    ]
    return "\n".join([head, *lines])


def _bar(row: TimedRow) -> str:
    cells = ["·"] * _WIDTH
    low, high = _at(row.low), _at(row.high)
    cells[low : high + 1] = ["━"] * (high - low + 1)
    if not low <= _at(RULE) <= high:
        cells[_at(RULE)] = "│"
    cells[_at(row.ratio)] = "●"
    return "".join(cells)


def _figures(row: TimedRow) -> str:
    return f"{row.ratio:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _at(value: float) -> int:
    return round(min(max((value - _LOW) / (_HIGH - _LOW), 0), 1) * (_WIDTH - 1))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
