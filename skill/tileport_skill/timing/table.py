"""Results at the terminal: a table an operator, what was dropped in tuning, and every reason in full."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tileport_skill.timing import picture
from tileport_skill.timing.records import Conditions, NotRun, Passed, RowResult, Side, Timing
from tileport_skill.timing.statistics import Interval

_COLOURS = {"passed": "green", "failed": "red", "inconclusive": "yellow"}
_MOST_REASON = 400
_CLOCK_STOOD_STILL = 0.03


def show(console: Console, timing: Timing) -> None:
    """Prints one operator's results."""
    console.print(f"[bold]{timing.operator}[/bold]: {_coloured(timing.verdict.verdict)}{_mean(timing)}")
    if timing.unproven:
        console.print(f"Unproven: {timing.unproven}.")
    console.print(_rows(timing))
    console.print(escape(picture.text(timing)), highlight=False)
    for row in timing.rows:
        if not isinstance(row.verdict, Passed):
            for reason in row.verdict.reasons:
                console.print(f"{_coloured(row.verdict.verdict)} {escape(row.row)}: {escape(reason[:_MOST_REASON])}")
    for row in timing.rows:
        for side in (row.reference, row.port):
            _dropped(console, row, side)
    console.print(f"Rows from {escape(timing.why_rows)}.")
    console.print(_machine(timing))


def show_not_run(console: Console, found: NotRun) -> None:
    console.print(f"[yellow]not run[/yellow]: {escape(found.why)}")
    console.print(escape(found.how))


def _rows(timing: Timing) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("row", overflow="fold")
    for name in (
        "ratio",
        "95 %",
        "null",
        "sees",
        "warm",
        f"{timing.baseline} µs",
        "port µs",
        "host µs",
        "n",
        "verdict",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("clocks")
    for row in timing.rows:
        table.add_row(
            escape(row.row),
            "-" if row.cold is None else f"{row.cold.ratio:.3f}",
            _ends(row.cold),
            _ends(row.null),
            "-" if row.detectable is None else f"{row.detectable:.1%}",
            "-" if row.warm is None else f"{row.warm.ratio:.3f}",
            _us(row.reference.cold_us),
            _us(row.port.cold_us),
            f"{_us(row.reference.host_us)}/{_us(row.port.host_us)}",
            f"{row.processes}×{(row.blocks - row.set_aside) // max(row.processes, 1)}",
            _coloured(row.verdict.verdict),
            _clocks(row.conditions),
        )
    return table


def _dropped(console: Console, row: RowResult, side: Side) -> None:
    for configuration, why in side.tuned.dropped:
        text = f"tuning {side.backend} on {row.row} dropped {configuration}: {why[:_MOST_REASON]}"
        console.print(escape(text), highlight=False)


def _mean(timing: Timing) -> str:
    return "" if timing.geometric_mean is None else f", geometric mean {timing.geometric_mean:.3f}"


def _coloured(verdict: str) -> str:
    return f"[{_COLOURS[verdict]}]{verdict}[/{_COLOURS[verdict]}]"


def _ends(found: Interval | None) -> str:
    return "-" if found is None else f"{found.low:.3f}-{found.high:.3f}"


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def _clocks(state: Conditions) -> str:
    parts = []
    if state.sm_mhz:
        parts.append(f"{state.sm_mhz[1]} MHz")
    if state.clock_spread is not None and state.clock_spread > _CLOCK_STOOD_STILL:
        parts.append(f"down to {1 / (1 + state.clock_spread):.0%}")
    if state.celsius:
        parts.append(f"{state.celsius[0]}-{state.celsius[1]} °C")
    return ", ".join([*parts, *state.throttle])


def _machine(timing: Timing) -> str:
    machine = timing.machine
    versions = machine.get("versions", {})
    parts = [str(machine.get("gpu", "unknown GPU")), f"driver {machine.get('driver')}"]
    parts += [f"{name} {versions[name]}" for name in ("cuda-tile", "torch") if versions.get(name)]
    if timing.cupti_factor is not None:
        parts.append(f"CUPTI ÷ events {timing.cupti_factor:.3f}")
    return f"On {', '.join(parts)}. Host µs: until a call returns, {timing.baseline}/port."
