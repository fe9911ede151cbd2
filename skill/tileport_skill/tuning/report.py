"""A tuning for people: both columns of every row, the roofline before and after, tables, pictures and findings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from tileport_skill.pages.render import render
from tileport_skill.timing import picture
from tileport_skill.timing.records import Inconclusive, Passed, Timing
from tileport_skill.timing.statistics import Interval, geometric_mean
from tileport_skill.tuning.findings import Finding, findings
from tileport_skill.tuning.judged import TunedRow, Tuning
from tileport_skill.tuning.roofplot import roofs

_PAGE = Path(__file__).parent / "templates" / "tuning.html.j2"


def summary(tuning: Tuning) -> dict[str, Any]:
    """What `--json` prints of an operator."""
    return {
        "operator": tuning.operator,
        "arch": tuning.arch,
        "date": tuning.table.date,
        "gpu": tuning.table.gpu,
        "geometric_mean": mean_of(tuning),
        "rows": [_row(tuning, call) for call in calls_of(tuning)],
        "fallen": [list(one) for one in tuning.fallen],
        "unsearched": [list(one) for one in tuning.unsearched],
        "lines": len(tuning.table.lines),
        "copies": tuning.table.copies,
        "contenders": tuning.contenders,
        "findings": [one.text for one in findings(tuning)],
    }


def calls_of(tuning: Tuning) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.call for row in tuning.rows))


def mean_of(tuning: Tuning) -> float | None:
    """Over all calls that were measured: 1 where the table leaves the reference's choice."""
    ratios = []
    for call in calls_of(tuning):
        row = tuning.chosen(call)
        ratios.append(1.0 if row is None or row.result.cold is None else row.result.cold.ratio)
    return geometric_mean(ratios)


def _row(tuning: Tuning, call: str) -> dict[str, Any]:
    row, option = tuning.chosen(call), tuning.best_option(call)
    return {
        "call": call,
        "choice": "the reference's own" if row is None else row.choice.text,
        "held_out": next(one.held_out for one in tuning.rows if one.call == call),
        "against_own": None if row is None else _plain(row.result.cold),
        "own_against_best_option": None if option is None else _plain(option.result.cold),
        "best_option": None if option is None else option.choice.text,
        "against_best_option": against_option(row, option),
        "roof_before": None if row is None else row.before,
        "roof_after": None if row is None else row.after,
        "memory_only": None if row is None else row.memory_only,
    }


def against_option(row: TunedRow | None, option: TunedRow | None) -> float | None:
    """Best optional mode ÷ chosen, from two paired ratios against the same third: no interval of its own."""
    if option is None or option.result.cold is None:
        return None
    chosen = 1.0 if row is None or row.result.cold is None else row.result.cold.ratio
    return chosen / max(option.result.cold.ratio, 1.0)


def _plain(found: Interval | None) -> list[float] | None:
    return None if found is None else [found.low, found.ratio, found.high]


def show(console: Console, tunings: Sequence[Tuning]) -> None:
    """At the terminal."""
    for tuning in tunings:
        mean = mean_of(tuning)
        said = "" if mean is None else f", geometric mean {mean:.3f}"
        console.print(f"[bold]{tuning.operator}[/bold] on {tuning.arch}{said}; {escape(tuning.table.gpu)}")
        grid = Grid("call", "choice", "÷ own", "95 %", "÷ best option", "roof", box=None)
        for one in (_row(tuning, call) for call in calls_of(tuning)):
            grid.add_row(*(escape(cell) for cell in cells(one)))
        console.print(grid)
        for name, why in (*tuning.fallen, *tuning.unsearched):
            console.print(escape(f"{name}: {why}"), highlight=False)
        for row in tuning.rows:
            if isinstance(row.result.verdict, Inconclusive):
                reasons = "; ".join(row.result.verdict.reasons)
                console.print(escape(f"no result, {row.result.row}: {reasons}"), highlight=False)
        for finding in findings(tuning):
            console.print(escape(finding.text), highlight=False)


def cells(one: dict[str, Any]) -> tuple[str, ...]:
    """A row as the terminal and the page have it."""
    own, option = one["against_own"], one["against_best_option"]
    roof = one["roof_before"]
    return (
        one["call"] + (" (held out)" if one["held_out"] else ""),
        one["choice"],
        "1" if own is None else f"{own[1]:.3f}",
        "" if own is None else f"{own[0]:.3f}-{own[2]:.3f}",
        "" if option is None else f"{option:.3f}",
        "" if roof is None else f"{roof:.2f} → {one['roof_after']:.2f}" + (" (memory)" if one["memory_only"] else ""),
    )


def timing_of(tuning: Tuning) -> Timing:
    """The rows of the table's choices, for the timing's own picture."""
    rows = tuple(row.result for call in calls_of(tuning) if (row := tuning.chosen(call)) is not None)
    return Timing(
        operator=tuning.operator,
        baseline="reference",
        candidate="tuned",
        verdict=Passed() if rows else Inconclusive(reasons=("the reference's own choice stands everywhere",)),
        rows=rows,
        geometric_mean=mean_of(tuning),
        cupti_factor=None,
        unproven=None,
        machine={"gpu": tuning.table.gpu},
        why_rows="",
    )


def ratios(tunings: Sequence[Tuning]) -> str:
    """The picture of all ratios."""
    return picture.svg([timing_of(one) for one in tunings])


def page(tunings: Sequence[Tuning]) -> str:
    """One HTML file."""
    return render(
        _PAGE,
        title="Tuning",
        ratios=ratios(tunings),
        roofs=roofs(tunings),
        operators=[
            {
                "name": one.operator,
                "mean": mean_of(one),
                "machine": f"{one.table.gpu}, {one.table.date}, "
                + ", ".join(f"{name} {version}" for name, version in sorted(one.table.versions.items())),
                "rows": [cells(_row(one, call)) for call in calls_of(one)],
                "notes": [f"{name}: {why}" for name, why in (*one.fallen, *one.unsearched)],
                "findings": [_found(finding) for finding in findings(one)],
            }
            for one in tunings
        ],
    )


def _found(finding: Finding) -> str:
    return finding.text
