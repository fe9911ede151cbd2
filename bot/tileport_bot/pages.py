"""The status page: the queue, and each request's stage, log and gates. Read only, everything escaped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, get_args

from tileport_bot import inbox, requests
from tileport_bot.requests import Request
from tileport_bot.status import Stage
from tileport_driver.records import Failed, Gate, GateName, NotRun, Passed
from tileport_driver.store import AttemptFolder, attempt_of
from tileport_skill.errors import MachineryError
from tileport_skill.pages.markdown import clean
from tileport_skill.pages.render import render

TEMPLATES = Path(__file__).parent / "templates"
_SHOWN_REQUESTS = 100
_SHOWN_DELIVERIES = 20
_GATES = get_args(GateName)
_TRAIL = tuple(str(stage) for stage in Stage if not stage.is_end)


class GateRow(NamedTuple):
    gate: str
    verdict: str
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request, as the table shows it."""

    id: int
    operator: str
    repository: str
    issue: int
    asked_by: str
    asked: str
    state: str
    stage: str
    attempt: int
    since: float
    """Seconds since anything changed."""
    gates: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    rows: tuple[Row, ...]
    waiting_deliveries: int
    deliveries: tuple[tuple[str, str, str, str], ...]
    """When, event, what about, what was done."""
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One request whole."""

    row: Row
    reference: str
    attempt_name: str | None
    trail: tuple[str, ...]
    log: tuple[tuple[str, str], ...]
    gates: tuple[GateRow, ...]
    history: tuple[str, ...]
    has_report: bool
    told: bool
    now: str


def read_overview(now: float) -> Overview:
    lines = inbox.newest(_SHOWN_DELIVERIES)
    return Overview(
        rows=tuple(_row(request, now) for request in requests.newest(_SHOWN_REQUESTS)),
        waiting_deliveries=inbox.count_waiting(),
        deliveries=tuple((_when(d.received), d.event, d.about, clean(d.line)[:300]) for d in lines),
        now=_when(now),
    )


def read_request(id: int, now: float) -> Shown | None:
    request = requests.look(id)
    if request is None:
        return None
    attempt = _attempt(request)
    return Shown(
        row=_row(request, now),
        reference=request.record.reference,
        attempt_name=request.attempt,
        trail=_TRAIL,
        log=tuple((_when(at), clean(line)) for at, line in requests.log_lines(id)),
        gates=tuple(_gate(gate) for gate in _gates(attempt)),
        history=request.record.history,
        has_report=attempt is not None and (attempt.path / "report.html").is_file(),
        told=request.told,
        now=_when(now),
    )


def read_report(id: int) -> str | None:
    """The attempt's own report, which is one page without scripts."""
    request = requests.look(id)
    attempt = _attempt(request) if request is not None else None
    path = attempt.path / "report.html" if attempt is not None else None
    return path.read_text(encoding="utf-8") if path is not None and path.is_file() else None


def overview_html(overview: Overview) -> str:
    """Pure."""
    active = sorted((row for row in overview.rows if row.state != "ended"), key=lambda row: row.id)
    ended = [row for row in overview.rows if row.state == "ended"]
    return render(TEMPLATES / "overview.html.j2", overview=overview, active=active, ended=ended)


def request_html(shown: Shown) -> str:
    """Pure."""
    at = shown.trail.index(shown.row.stage) if shown.row.stage in shown.trail else len(shown.trail)
    return render(TEMPLATES / "request.html.j2", shown=shown, row=shown.row, at=at)


def _row(request: Request, now: float) -> Row:
    return Row(
        id=request.id,
        operator=request.record.operator,
        repository=request.place.repository,
        issue=request.place.issue,
        asked_by=request.record.asked_by,
        asked=_when(request.asked),
        state=request.state,
        stage=str(request.record.stage),
        attempt=request.record.attempt,
        since=max(0.0, now - request.changed),
        gates=tuple((gate.gate, gate.verdict) for gate in _gates(_attempt(request))),
    )


def _gates(attempt: AttemptFolder | None) -> tuple[Gate, ...]:
    """In the gates' own order; none for records that do not read, as a page must not fail of them."""
    try:
        acceptance = attempt.acceptance() if attempt is not None else None
    except MachineryError:
        return ()
    found = acceptance.gates if acceptance is not None else ()
    return tuple(sorted(found, key=lambda gate: _GATES.index(gate.gate)))


def _gate(gate: Gate) -> GateRow:
    match gate:
        case Passed(evidence=found) | Failed(reasons=found):
            return GateRow(gate.gate, gate.verdict, tuple(clean(text)[:600] for text in found[:6]))
        case NotRun(why=why, how=how):
            return GateRow(gate.gate, gate.verdict, (clean(why)[:600], clean(how)[:600]))


def _attempt(request: Request) -> AttemptFolder | None:
    return attempt_of(request.attempt) if request.attempt else None


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
