"""Many operators, one after the other, dependencies first; what becomes of one stops no other.

A batch is a folder with `batch.json`, rewritten after each operator, so that a killed one is gone on with. It stops
between two operators when a file named `stop` appears beside it, and by itself when our own machinery has failed three
times in a row: then the machine needs looking at, not the next operator.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import TypeAdapter, ValidationError

from tileport_driver.container import Stopped
from tileport_driver.dependencies import in_order
from tileport_driver.host.paths import state_dir
from tileport_driver.progress import Progress
from tileport_driver.records import EngineName, MachineryFailed
from tileport_driver.requests import Order, commit_of, repository_root_of
from tileport_driver.service import Ended
from tileport_driver.store import write_json
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

RowState = Literal["waiting", "running", "ported", "unproved", "not ported", "refused", "failed", "stopped"]
ENDED: tuple[RowState, ...] = ("ported", "unproved", "not ported", "refused")
"""What `--resume` does not do again; what our machinery failed at is tried again."""
_MOST_FAILURES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One operator of a batch."""

    operator: str
    state: RowState = "waiting"
    attempt: str | None = None
    seconds: float = 0.0
    tokens: int = 0
    gates: tuple[tuple[str, str], ...] = ()
    """Each gate with its verdict."""
    why: str = ""
    """The first reason, where it is not ported."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The whole of it, as `batch.json` holds it."""

    id: str
    repository: str
    engine: EngineName
    script: str | None
    base: str
    rows: tuple[Row, ...]
    declare: bool = False
    """Whether drafts may themselves declare what the crate has no word for."""
    hide_twins: bool = False
    """Whether near twins of an operator's port are hidden with it."""
    ended: str | None = None
    """Why it ended: `done`, `stopped`, `limit`, or `machinery`."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def folder(self) -> Path:
        return _batches() / self.id

    @property
    def stop_file(self) -> Path:
        return self.folder / "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast and how far."""

    limit: int | None = None
    """At most so many operators in this run."""
    seconds: float = 0.0
    """At least so long between the beginnings of two."""


def new_batch(
    repository: Path,
    operators: tuple[str, ...],
    engine: EngineName,
    script: Path | None,
    base: str,
    *,
    declare: bool = False,
    hide_twins: bool = False,
) -> Batch:
    """A batch whose operators all wait, written down."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    rows = tuple(Row(operator=name) for name in operators)
    batch = Batch(
        id=stamp,
        repository=str(repository),
        engine=engine,
        script=str(script) if script else None,
        base=base,
        rows=rows,
        declare=declare,
        hide_twins=hide_twins,
    )
    batch.folder.mkdir(parents=True)
    write_batch(batch)
    return batch


def start_batch(
    repository: Path,
    names: list[str] | None,
    engine: EngineName,
    script: Path | None,
    base: str,
    *,
    declare: bool = False,
    hide_twins: bool = False,
) -> Batch:
    """A batch of the named operators, or of all for None, each after what it needs. Raises `RequestError`."""
    checkout = open_checkout(repository)
    everyone = read_operators(checkout)
    wanted = (
        everyone if names is None else tuple({o.name: o for o in (find_operator(everyone, n) for n in names)}.values())
    )
    ordered = in_order(checkout, wanted, everyone)
    # A batch is of one commit, whatever is committed while it runs.
    commit = commit_of(repository_root_of(repository), base)
    chosen = tuple(operator.name for operator in ordered)
    return new_batch(repository, chosen, engine, script, commit, declare=declare, hide_twins=hide_twins)


def last_batch() -> Batch:
    """The newest batch as it stands. Raises `RequestError` if there is none."""
    found = sorted(_batches().glob("*/batch.json"))
    if not found:
        raise RequestError("There is no batch to resume. Start one: tileport batch --all")
    try:
        return TypeAdapter(Batch).validate_json(found[-1].read_bytes())
    except ValidationError as error:
        raise MachineryError(f"{found[-1]} is damaged or of another version: {error.errors()[0]['msg']}.") from error


def write_batch(batch: Batch) -> None:
    write_json(batch.folder / "batch.json", asdict(batch))


def run_batch(
    batch: Batch,
    port_one: Callable[[Order, Progress], Ended],
    pace: Pace,
    stop: Callable[[], bool],
    show: Callable[[Batch, Progress | None], None],
) -> Batch:
    """Does what has not ended. `show` hears of every change, with the progress of the operator that runs."""
    batch.stop_file.unlink(missing_ok=True)
    batch = replace(batch, ended=None)
    begun, failures, last = 0, 0, 0.0
    for number, row in enumerate(batch.rows):
        if row.state in ENDED:
            continue
        reason = _reason_to_end(batch, pace, stop, begun, failures)
        if reason is None and begun:
            reason = _rest(pace.seconds - (time.monotonic() - last), batch, stop)
        if reason is not None:
            return _ended(batch, reason, show)
        last = time.monotonic()
        batch = _with_row(batch, number, replace(row, state="running"), show, progress := Progress())
        done = _port(batch, row, port_one, progress)
        batch = _with_row(batch, number, done, show, None)
        begun += 1
        failures = failures + 1 if done.state == "failed" else 0
        if done.state == "stopped":
            return _ended(batch, "stopped", show)
    return _ended(batch, "done", show)


def script_of(folder: Path | None, operator: str) -> Path | None:
    """The operator's own script in a folder of scripts, or the one that serves all."""
    if folder is None:
        return None
    own = folder / operator
    return own if own.is_dir() else folder


def _port(batch: Batch, row: Row, port_one: Callable[[Order, Progress], Ended], progress: Progress) -> Row:
    """One operator; whatever goes wrong with it is in its row."""
    order = Order(
        operator=row.operator,
        repository=Path(batch.repository),
        engine=batch.engine,
        script=script_of(Path(batch.script) if batch.script else None, row.operator),
        base=batch.base,
        declare=batch.declare,
        hide_twins=batch.hide_twins,
    )
    started = time.monotonic()
    try:
        ended = port_one(order, progress)
    except Stopped:
        return replace(row, state="stopped", seconds=time.monotonic() - started)
    except Exception as bug:  # of ours, in this one operator: the others are still to be done
        ended = Ended(MachineryFailed(reason=f"{type(bug).__name__}: {bug}"), None)
    return row_of(row.operator, ended, time.monotonic() - started, progress.look().tokens)


def row_of(operator: str, ended: Ended, seconds: float, tokens: int) -> Row:
    """How one operator ended, in a row."""
    outcome, attempt = ended.outcome, ended.attempt
    acceptance = attempt.acceptance() if attempt is not None else None
    run = attempt.agent_run() if attempt is not None else None
    reasons = getattr(outcome, "reasons", ()) or (getattr(outcome, "reason", ""),)
    return Row(
        operator=operator,
        state=outcome.kind,
        attempt=attempt.id if attempt is not None else None,
        seconds=round(seconds, 1),
        tokens=run.usage.input_tokens + run.usage.output_tokens if run is not None else tokens,
        gates=tuple((gate.gate, gate.verdict) for gate in acceptance.gates) if acceptance is not None else (),
        why=str(reasons[0]).splitlines()[0][:300] if reasons[0] else "",
    )


def _reason_to_end(batch: Batch, pace: Pace, stop: Callable[[], bool], begun: int, failures: int) -> str | None:
    if stop() or batch.stop_file.exists():
        return "stopped"
    if failures >= _MOST_FAILURES:
        return "machinery"
    return "limit" if pace.limit is not None and begun >= pace.limit else None


def _rest(seconds: float, batch: Batch, stop: Callable[[], bool]) -> str | None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if stop() or batch.stop_file.exists():
            return "stopped"
        time.sleep(0.1)
    return None


def _with_row(
    batch: Batch, number: int, row: Row, show: Callable[[Batch, Progress | None], None], progress: Progress | None
) -> Batch:
    changed = replace(batch, rows=(*batch.rows[:number], row, *batch.rows[number + 1 :]))
    write_batch(changed)
    show(changed, progress)
    return changed


def _ended(batch: Batch, why: str, show: Callable[[Batch, Progress | None], None]) -> Batch:
    ended = replace(batch, ended=why)
    write_batch(ended)
    show(ended, None)
    return ended


def _batches() -> Path:
    return state_dir() / "batches"
