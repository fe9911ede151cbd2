"""The driver on this machine, as the bot needs it: the one place where the two meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tileport_bot.driver import Cancelled, FileChange, Finished, Interrupted, Rerun, TimedRow, Watch
from tileport_bot.status import Stage
from tileport_driver.batch import script_of
from tileport_driver.container import Stopped
from tileport_driver.dashboard import read_attempt
from tileport_driver.progress import Progress
from tileport_driver.progress import Stage as DriverStage
from tileport_driver.records import EngineName, MachineryFailed, Ported, PortRequest, Refused, Unproved
from tileport_driver.report import split_diff
from tileport_driver.reporting import ir_rows, timings
from tileport_driver.requests import Order, make_request
from tileport_driver.service import Ended, begin, go_on
from tileport_driver.store import AttemptFolder, attempt_of
from tileport_skill.errors import MachineryError, RequestError

_SHOWN = {
    DriverStage.PREPARING: Stage.PREPARING,
    DriverStage.RUNNING: Stage.RUNNING,
    DriverStage.CAPTURED: Stage.CAPTURED,
    DriverStage.CHECKING: Stage.CHECKING,
}
"""The stages the bot is told of; publishing is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalDriver:
    """Makes attempts here, with the scripted conversation in `script` or, without one, with the real API; or drafts.

    `script` may hold one conversation, or a folder of each operator's name.
    `show` runs an attempt while somebody watches it; it hands the work the progress it is to report to.
    """

    script: Path | None
    show: Callable[[Callable[[Progress], Ended]], Ended]
    stop: Callable[[], bool] = lambda: False
    keep: bool = False
    drafts: bool = False
    """Have a program draft the port, with no model in the loop."""
    declare: bool = False
    """Let drafts themselves declare what the pinned crate has no word for."""

    def run(self, operator: str, repository: Path, attempt: int, watch: Watch) -> Finished:
        engine: EngineName = "none" if self.drafts else "scripted" if self.script else "anthropic"
        order = Order(
            operator=operator,
            repository=repository,
            engine=engine,
            script=script_of(self.script, operator),
            keep=self.keep,
            declare=self.declare,
        )

        def work(progress: Progress) -> Ended:
            progress.on_stage = lambda stage: watch.stage(_SHOWN[stage]) if stage in _SHOWN else None
            try:
                folder = (attempt_of(watch.attempt) if watch.attempt else None) or begin(make_request(order))
            except RequestError as error:
                return Ended(Refused(reason=str(error)), None)
            except MachineryError as error:
                return Ended(MachineryFailed(reason=str(error)), None)
            watch.begun(folder.id)
            return go_on(folder, progress, lambda: self.stop() or watch.stop())

        try:
            ended = self.show(work)
        except Stopped as stopped:
            raise (Interrupted if self.stop() else Cancelled) from stopped
        return finished(ended)


def finished(ended: Ended) -> Finished:
    """What the bot tells of an attempt, from its folder."""
    attempt = ended.attempt
    if attempt is None:
        return Finished(outcome=ended.outcome)
    request, run, shown = attempt.request(), attempt.agent_run(), read_attempt(attempt, attempt.path)
    return Finished(
        outcome=ended.outcome,
        acceptance=attempt.acceptance(),
        attempt_dir=attempt.path,
        reports=tuple(name for name in ("report.md", "report.html") if (attempt.path / name).is_file()),
        changes=_changes(attempt),
        ir_rows=ir_rows(attempt),
        timed_rows=_timed_rows(attempt),
        reruns=reruns(request, ended),
        usage=run.usage if run else None,
        given_up=run.given_up if run else None,
        dollars=f"{shown.dollars:.2f}" if shown.dollars is not None else None,
        seconds=shown.seconds or None,
        draft=attempt.draft_alone(),
    )


def reruns(request: PortRequest, ended: Ended) -> tuple[Rerun, ...]:
    """One command for each gate, in a clone that has the branch."""
    outcome = ended.outcome
    if not isinstance(outcome, Ported | Unproved):
        return ()
    base, branch, operator = request.base_commit[:12], outcome.delivery.branch, request.operator
    judge = f"git diff --binary --full-index {base} {branch} > patch.diff && tileport judge patch.diff"
    judge = f"{judge} --operator {operator} --repo . --base {base}"
    return (
        Rerun("policy", f"git diff --raw {base} {branch}"),
        Rerun("apply", f"git diff --binary --full-index {base} {branch} | git apply --check --cached --reverse"),
        Rerun("build", f"{judge}"),
        Rerun("tile-ir", f"git switch {branch} && tileport-skill verify {operator} --repo ."),
        Rerun("correctness", f"{judge} --pack gpu && sh gpu/run.sh"),
        Rerun("performance", f"{judge} --evidence gpu/evidence"),
    )


def _timed_rows(attempt: AttemptFolder) -> tuple[TimedRow, ...]:
    rows = (row for timing in timings(attempt) for row in timing.rows)
    return tuple(TimedRow(row.row, row.cold.low, row.cold.ratio, row.cold.high) for row in rows if row.cold)


def _changes(attempt: AttemptFolder) -> tuple[FileChange, ...]:
    if not attempt.diff.is_file():
        return ()
    files = split_diff(attempt.diff.read_text(encoding="utf-8", errors="replace"))
    return tuple(FileChange(file.path, file.added, file.removed) for file in files)
