"""What the bot needs of the driver: one operator ported, from a spelling to an outcome."""

from __future__ import annotations

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


class TimedRow(NamedTuple):
    """Reference ÷ port of one measured row, with its 95 % interval."""

    row: str
    low: float
    ratio: float
    high: float


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
    timed_rows: tuple[TimedRow, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    usage: Usage | None = None
    given_up: Diagnosis | None = None
    """Why the roles gave the port up, where they did."""
    dollars: str | None = None
    """What the model cost, where the price is known."""
    seconds: float | None = None
    draft: DraftRun | None = None
    """What the drafting program came to, where no model was in the loop; such an attempt costs none."""


class Cancelled(Exception):
    """Somebody took the request back."""


class Interrupted(Exception):
    """The bot is to stop; the request is not over."""


class Watch(Protocol):
    """Whom the driver tells of an attempt, and asks whether to go on."""

    @property
    def attempt(self) -> str | None:
        """The name of the attempt to go on with; None for a new one."""
        ...

    def begun(self, attempt: str) -> None: ...

    def stage(self, stage: Stage) -> None:
        """Raises `Cancelled` or `Interrupted`, which the driver lets through once it stopped what it had started."""
        ...

    def stop(self) -> bool:
        """Polled while something runs."""
        ...


class Driver(Protocol):
    """Makes one attempt. A port or a request that fails is in `Finished`; only bugs are raised."""

    def run(self, operator: str, repository: Path, attempt: int, watch: Watch) -> Finished:
        """Tells of `PREPARING`, `RUNNING`, `CAPTURED` and `CHECKING` as each begins.

        An attempt that is over already has its end again, and nothing is done twice.
        """
        ...
