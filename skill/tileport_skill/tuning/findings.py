"""What a tuning shows of the reference itself, for its maintainers: place, measurement, smallest change. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tileport_skill.timing.statistics import geometric_mean
from tileport_skill.tuning.candidates import Candidate
from tileport_skill.tuning.judged import TunedRow, Tuning

WORTH = 1.05
"""A gain below this is no news to a maintainer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One sentence for each part."""

    where: str
    measured: str
    change: str

    @property
    def text(self) -> str:
        return f"{self.where}: {self.measured} {self.change}"


def findings(tuning: Tuning) -> tuple[Finding, ...]:
    """One for each kernel or keyword whose other choice is faster by its lower bounds' mean."""
    return tuple(_findings(tuning))


def _findings(tuning: Tuning) -> Iterator[Finding]:
    groups: dict[str, list[TunedRow]] = {}
    for row in tuning.rows:
        if row.stands and not row.held_out and row.result.cold is not None and "winner" in row.why:
            groups.setdefault(_what(row), []).append(row)
    for what, rows in groups.items():
        cold = [row.result.cold for row in rows if row.result.cold is not None]
        mean = geometric_mean([one.low for one in cold])
        if mean is None or mean < WORTH:
            continue
        best = max(rows, key=lambda row: row.result.cold.ratio if row.result.cold else 0.0)
        low, high = min(one.ratio for one in cold), max(one.ratio for one in cold)
        yield Finding(
            where=f"{tuning.operator} on {tuning.arch}, {what}{_place(tuning, best)}",
            measured=f"{_times(low, high)} times as fast as what it chooses itself, measured on "
            f"{len(rows)} {'shape' if len(rows) == 1 else 'shapes'} ({tuning.table.gpu}, {tuning.table.date}).",
            change=_change(best),
        )


def _times(low: float, high: float) -> str:
    return f"{low:.2f} to {high:.2f}" if f"{low:.2f}" != f"{high:.2f}" else f"{low:.2f}"


def _what(row: TunedRow) -> str:
    if not row.choice.copies:
        return "copies of its inputs"
    if row.choice.options:
        return f"called with {', '.join(f'{name}={value!r}' for name, value in row.choice.options)}"
    return ", ".join(kernel for kernel, _ in row.choice.kernels)


def _place(tuning: Tuning, row: TunedRow) -> str:
    names = [kernel for kernel, _ in row.choice.kernels] or [tuning.operator]
    found = [tuning.places[name] for name in names if name in tuning.places]
    return f" ({', '.join(found)})" if found else ""


def _change(row: TunedRow) -> str:
    if not row.choice.copies:
        return "Smallest change: pass strided views to the kernel in place of `.contiguous()`."
    parts = ["make it the default for shapes like these"] if row.choice.options or not row.choice.kernels else []
    parts += [_of_kernel(kernel, candidate, row.call) for kernel, candidate in row.choice.kernels]
    return f"Smallest change: {', and '.join(parts)}."


def _of_kernel(kernel: str, candidate: Candidate, call: str) -> str:
    """A kernel without configurations has none to add to: its hints stand at its launch."""
    if not candidate.fields:
        hints = ", ".join(f"{name}={value}" for name, value in candidate.hints)
        return f"launch `{kernel}.replace_hints({hints})`, measured on {call}"
    more = ", and pass its hints to the search as `hints_fn` and to the launch" if candidate.hints else ""
    return f"add to its configurations, for {call}, {kernel}: {candidate.text}{more}"
