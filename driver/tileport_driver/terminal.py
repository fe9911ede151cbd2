"""What a person sees at the terminal: live progress, plain lines where there is no terminal, and the end."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from tileport_driver.gpu.host import Need
from tileport_driver.hide_show import HiddenTree
from tileport_driver.jobs import Job
from tileport_driver.progress import Progress, Snapshot
from tileport_driver.records import EXIT_CODES, Failed, Gate, NotRun, Passed
from tileport_driver.service import Ended
from tileport_driver.sweep import Swept
from tileport_skill.tilegym.operators import Operator

Result = TypeVar("Result")
_STYLES = {"passed": "green", "failed": "red", "not run": "yellow"}
_PLAIN_EVERY = 10.0


@contextmanager
def stop_on_interrupt(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM ask to stop; a second one is Python's own and ends the process at once."""
    asked = threading.Event()

    def ask(number: int, frame: object) -> None:
        say("stopping: containers first (again to leave them)")
        asked.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def watch(work: Callable[[Progress], Result], console: Console) -> Result:
    """Runs `work` in a thread and shows its progress until it returns; what it raises is raised here."""
    progress = Progress()
    answer: list[Result] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            answer.append(work(progress))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=body, name="attempt")
    thread.start()
    if console.is_terminal:
        _show_live(thread, progress, console)
    else:
        _show_lines(thread, progress, console)
    if failure:
        raise failure[0]
    return answer[0]


def _show_live(thread: threading.Thread, progress: Progress, console: Console) -> None:
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        while thread.is_alive():
            live.update(_line(progress.look(), console.width))
            thread.join(0.25)


def _show_lines(thread: threading.Thread, progress: Progress, console: Console) -> None:
    """A line when stage or action changes, and at least every ten seconds, so that a log shows life."""
    last, spoken = ("", ""), 0.0
    while thread.is_alive():
        now = progress.look()
        key = (now.stage.value, now.action)
        if key != last or time.monotonic() - spoken > _PLAIN_EVERY:
            console.print(_line(now, 200), soft_wrap=True)
            last, spoken = key, time.monotonic()
        thread.join(0.5)


def _line(now: Snapshot, width: int) -> Text:
    tokens = f"  {now.tokens:,} tokens" if now.tokens else ""
    text = f"{now.seconds:6.0f} s  {now.stage.value:<10} {now.stage_seconds:4.0f} s{tokens}  {now.action}"
    line = Text(text.replace("\n", " "))
    line.truncate(width, overflow="ellipsis")
    return line


def show_end(ended: Ended, console: Console) -> None:
    """The outcome, the gates, and what to do next."""
    outcome, attempt = ended.outcome, ended.attempt
    acceptance = attempt.acceptance() if attempt else None
    if acceptance and attempt:
        show_gates(acceptance.gates, attempt.request().operator, console)
    console.print(f"[bold]Outcome: {outcome.kind}[/bold]")
    reasons = getattr(outcome, "reasons", None) or ([outcome.reason] if hasattr(outcome, "reason") else [])
    for reason in reasons:
        console.print(escape(str(reason)), soft_wrap=True)
    if hasattr(outcome, "delivery"):
        console.print(f"Branch {outcome.delivery.branch} stands at {outcome.delivery.commit[:12]}.")
    if attempt:
        if (attempt.path / "report.html").is_file():
            console.print(f"Report: {attempt.path / 'report.html'}", soft_wrap=True)
        if outcome.kind == "failed":
            console.print(f"No attempt is spent. Go on with: tileport resume {attempt.id}", soft_wrap=True)


def show_gates(gates: tuple[Gate, ...], operator: str, console: Console) -> None:
    """One row for each gate."""
    table = Table("gate", "verdict", "what was found", title=operator)
    for gate in gates:
        found = {Passed: "evidence", Failed: "reasons"}.get(type(gate))
        lines = getattr(gate, found) if found else (gate.why, gate.how) if isinstance(gate, NotRun) else ()
        table.add_row(gate.gate, Text(gate.verdict, style=_STYLES[gate.verdict]), _shortened(lines))
    console.print(table)


def show_hidden(made: HiddenTree, console: Console) -> None:
    """What went and why, what still shows, what stayed near."""
    table = Table(Column("gone", overflow="fold"), "why", Column("lines", justify="right"), box=None)
    for item in made.record.hidden:
        table.add_row(escape(item.path), item.why, str(len(item.removed) or "all"))
    console.print(table if made.record.hidden else "There is no port to hide.")
    for near in made.near:
        console.print(f"stayed near: {escape(near.what)} ({escape(near.why)})", soft_wrap=True)
    scanned = ", ".join(f"{place.files:,} files of {place.name}" for place in made.leaks.places)
    console.print(
        f"Looked for {made.leaks.passages:,} passages and {made.leaks.names} names in {scanned or 'nothing'}."
    )
    for leak in made.leaks.leaks:
        console.print(f"[red]still shows[/red] {escape(str(leak))}", soft_wrap=True)
    if not made.leaks.leaks:
        console.print("No trace of the port is left.")
    console.print(f"The tree: {made.tree}", soft_wrap=True)


def show_jobs(jobs: tuple[Job, ...], console: Console) -> None:
    """One row for each job of every queue."""
    table = Table("job", "queue", "operator", "state", "worker", "taken", "attempt", "why", box=None)
    for job in jobs:
        state = job.result if job.state == "ended" and job.result else job.state
        words = (job.worker or "", str(job.fence), job.attempt or "", (job.why or "").split("\n")[0])
        table.add_row(str(job.id), job.queue, job.request.operator, state, *map(escape, words))
    console.print(table if jobs else "Nothing is queued.")


def show_swept(swept: Swept, console: Console) -> None:
    """What was removed, and what can be gone on with."""
    for name in swept.removed:
        console.print(f"removed {escape(name)}", soft_wrap=True)
    for name in swept.left:
        console.print(f"without a driver: {name} (tileport resume {name})", soft_wrap=True)
    if not (swept.removed or swept.left):
        console.print("Nothing was left behind.")


def show_needs(needs: tuple[Need, ...], console: Console) -> None:
    """One row for each thing the GPU gates need."""
    table = Table("needed", "here", "what to do")
    for need in needs:
        style = "green" if need.ok else "red"
        table.add_row(need.what, Text(need.found or "missing", style=style), need.how)
    console.print(table)


def exit_code(ended: Ended) -> int:
    """The exit status of a command that ended so."""
    return EXIT_CODES[ended.outcome.kind]


def show_operators(operators: tuple[Operator, ...], console: Console) -> None:
    # Names are typed again, so none is cut; the files' paths are in the JSON.
    table = Table(
        Column("operator", no_wrap=True),
        Column("also dispatched as", overflow="fold"),
        Column("kernels", justify="right"),
        Column("tests", justify="right"),
        Column("benchmarks", justify="right", no_wrap=True),
        "port",
        box=None,
    )
    for operator in operators:
        table.add_row(
            operator.name,
            "\n".join(alias for alias in operator.aliases if alias != operator.name),
            str(len(operator.kernels)),
            str(len(operator.tests) or ""),
            str(len(operator.benchmarks) or ""),
            "yes" if operator.ported else "",
        )
    console.print(table)


def stdout() -> Console:
    """For results."""
    return Console(file=sys.stdout)


def stderr() -> Console:
    """For progress and complaints, so that `--json` leaves stdout to the document."""
    return Console(file=sys.stderr)


def _shortened(lines: tuple[str, ...], most: int = 8) -> Text:
    shown = [line if len(line) < 600 else line[:600] + " ..." for line in lines[:most]]
    if len(lines) > most:
        shown.append(f"... and {len(lines) - most} more, in the report")
    return Text("\n".join(shown))
