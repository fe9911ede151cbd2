"""The driver on this machine, as the bot needs it: the one place where the two meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tileport_bot.driver import Cancelled, FileChange, Finished, OnStage, Rerun
from tileport_bot.status import Stage
from tileport_driver.container import Stopped
from tileport_driver.progress import Progress
from tileport_driver.progress import Stage as DriverStage
from tileport_driver.records import EngineName
from tileport_driver.report import split_diff
from tileport_driver.reporting import ir_rows
from tileport_driver.requests import Order
from tileport_driver.service import Ended, port
from tileport_driver.store import AttemptFolder

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

    `show` runs an attempt while somebody watches it; it hands the work the progress it is to report to.
    """

    script: Path | None
    show: Callable[[Callable[[Progress], Ended]], Ended]
    stop: Callable[[], bool] = lambda: False
    keep: bool = False
    drafts: bool = False
    """Have a program draft the port, with no model in the loop."""

    def run(self, operator: str, repository: Path, attempt: int, on_stage: OnStage) -> Finished:
        engine: EngineName = "none" if self.drafts else "scripted" if self.script else "anthropic"
        order = Order(
            operator=operator,
            repository=repository,
            engine=engine,
            script=self.script,
            keep=self.keep,
        )

        def work(progress: Progress) -> Ended:
            progress.on_stage = lambda stage: on_stage(_SHOWN[stage]) if stage in _SHOWN else None
            return port(order, progress, self.stop)

        try:
            ended = self.show(work)
        except Stopped as stopped:
            raise Cancelled from stopped
        return _finished(ended)


def _finished(ended: Ended) -> Finished:
    attempt = ended.attempt
    if attempt is None:
        return Finished(outcome=ended.outcome)
    acceptance, run = attempt.acceptance(), attempt.agent_run()
    return Finished(
        outcome=ended.outcome,
        acceptance=acceptance,
        attempt_dir=attempt.path,
        reports=tuple(name for name in ("report.md", "report.html") if (attempt.path / name).is_file()),
        changes=_changes(attempt),
        ir_rows=ir_rows(attempt),
        reruns=(Rerun("tile-ir", f"tileport-skill verify {attempt.request().operator} --repo ."),),
        usage=run.usage if run else None,
        given_up=run.given_up if run else None,
        draft=attempt.draft_alone(),
    )


def _changes(attempt: AttemptFolder) -> tuple[FileChange, ...]:
    if not attempt.diff.is_file():
        return ()
    files = split_diff(attempt.diff.read_text(encoding="utf-8", errors="replace"))
    return tuple(FileChange(file.path, file.added, file.removed) for file in files)
