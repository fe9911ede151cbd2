"""What the bot needs of the driver: one operator ported, from a spelling to an outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from tileport_bot.status import Stage
from tileport_driver.records import Acceptance, DraftRun, GateName, Outcome, Usage
from tileport_driver.report import IrRow
from tileport_skill.pipeline.diagnosis import Diagnosis


class FileChange(NamedTuple):
    path: str
    added: int
    removed: int


class Rerun(NamedTuple):
    """The one command with which a person runs a gate again on the branch."""

    gate: GateName
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An attempt that ended. What it did not reach is None or empty."""

    outcome: Outcome
    acceptance: Acceptance | None = None
    attempt_dir: Path | None = None
    """The whole record; file names in `acceptance` and `reports` are relative to it."""
    reports: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    ir_rows: tuple[IrRow, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    usage: Usage | None = None
    given_up: Diagnosis | None = None
    """Why the roles gave the port up, where they did."""
    draft: DraftRun | None = None
    """What the drafting program came to, where no model was in the loop; such an attempt costs none."""


OnStage = Callable[[Stage], None]


class Cancelled(Exception):
    """Raised by `on_stage` when somebody took the request back."""


class Driver(Protocol):
    """Makes one attempt. A port or a request that fails is in `Finished`; only bugs are raised."""

    def run(self, operator: str, repository: Path, attempt: int, on_stage: OnStage) -> Finished:
        """Calls `on_stage` with `PREPARING`, `RUNNING`, `CAPTURED` and `CHECKING` as each begins.

        `Cancelled` from `on_stage` is let through, after everything the attempt started was stopped.
        """
        ...
