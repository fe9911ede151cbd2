"""A batch at the terminal: a table that lives while it runs, plain lines where there is no terminal, and the end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from tileport_driver.batch import Batch, Row
from tileport_driver.progress import Progress

_STYLES = {
    "ported": "green",
    "unproved": "yellow",
    "not ported": "red",
    "refused": "red",
    "failed": "magenta",
    "running": "cyan",
    "stopped": "magenta",
}
_SIGNS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "not run": ("–", "yellow")}
ENDINGS = {
    "done": "Every operator has ended.",
    "stopped": "Stopped before every operator had ended.",
    "limit": "The limit of operators for one run is reached.",
    "machinery": "Stopped: our own machinery failed three times in a row. Mend that first (see the reasons above).",
}


def batch_table(batch: Batch, progress: Progress | None) -> Table:
    """One row for each operator: where it stands, how long, what it cost, what the gates said."""
    table = Table(
        Column("operator", no_wrap=True),
        Column("stage", no_wrap=True),
        Column("time", justify="right", no_wrap=True),
        Column("tokens", justify="right", no_wrap=True),
        Column("gates", no_wrap=True),
        Column("why", overflow="ellipsis", no_wrap=True),
        box=None,
    )
    for row in batch.rows:
        now = progress.look() if progress is not None and row.state == "running" else None
        stage = f"{now.stage.value}" if now else row.state
        seconds = now.seconds if now else row.seconds
        tokens = now.tokens if now else row.tokens
        table.add_row(
            escape(row.operator),
            Text(stage, style=_STYLES.get(row.state, "dim")),
            _time(seconds),
            f"{tokens:,}" if tokens else "",
            _gates(row),
            escape(now.action if now else row.why),
        )
    return table


def watch_batch(work: Callable[[Callable[[Batch, Progress | None], None]], Batch], console: Console) -> Batch:
    """Runs `work`, which reports each change to what it is given, and shows it until it returns."""
    if not console.is_terminal:
        return work(lambda batch, progress: _line(batch, progress, console))
    latest: list[tuple[Batch, Progress | None]] = []
    done = threading.Event()
    with Live(console=console, refresh_per_second=4, transient=True) as live:

        def redraw() -> None:
            while not done.wait(0.25):
                if latest:
                    live.update(batch_table(*latest[-1]))

        painter = threading.Thread(target=redraw, name="table")
        painter.start()
        try:
            return work(lambda batch, progress: latest.append((batch, progress)))
        finally:
            done.set()
            painter.join()


def show_batch(batch: Batch, console: Console) -> None:
    """The summary: the table, the sums, and how to go on."""
    console.print(batch_table(batch, None))
    counts = Counter(row.state for row in batch.rows)
    console.print(", ".join(f"{count} {state}" for state, count in sorted(counts.items())))
    console.print(ENDINGS.get(batch.ended or "", "Not ended."))
    if batch.ended != "done":
        console.print("Go on with: tileport batch --resume")
    console.print(f"Record: {batch.folder / 'batch.json'}", soft_wrap=True)


def _line(batch: Batch, progress: Progress | None, console: Console) -> None:
    """Of a change what changed: the operator that runs now, or the one that ended last."""
    running = [row for row in batch.rows if row.state == "running"]
    if progress is not None and running:
        number = batch.rows.index(running[0]) + 1
        console.print(f"{number}/{len(batch.rows)} {running[0].operator}: begins", soft_wrap=True, highlight=False)
    elif batch.ended is None:
        ended = [row for row in batch.rows if row.state not in ("waiting", "running")]
        row = ended[-1]
        why = f": {row.why}" if row.why else ""
        console.print(f"{row.operator}: {row.state} after {_time(row.seconds)}{why}", soft_wrap=True, markup=False)


def _gates(row: Row) -> Text:
    text = Text()
    for _, verdict in row.gates:
        sign, style = _SIGNS.get(verdict, ("?", ""))
        text.append(sign, style=style)
    return text


def _time(seconds: float) -> str:
    if not seconds:
        return ""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
