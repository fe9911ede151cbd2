"""Every attempt of this state folder on one static page: operators by gates, attempts, costs, durations."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from tileport_driver.broker.budget import LIVE_MODEL, price_of
from tileport_driver.records import AgentRun, GateName
from tileport_driver.reporting import stage_times
from tileport_driver.store import AttemptFolder, all_attempts
from tileport_skill.errors import MachineryError
from tileport_skill.pages.render import render

TEMPLATE = Path(__file__).parent / "templates" / "dashboard.html.j2"
GATES: tuple[GateName, ...] = ("policy", "apply", "build", "tile-ir", "correctness", "performance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One attempt, as far as the page tells of it."""

    id: str
    operator: str
    repository: str
    number: int
    engine: str
    began: str
    verdict: str
    """Its outcome; `not ended` while it is worked on, waits or was stopped; `damaged` for records that do not read."""
    why: str = ""
    gates: tuple[tuple[str, str], ...] = ()
    tokens: int = 0
    dollars: Decimal | None = None
    """None where the tokens are made up or there were none."""
    stages: tuple[tuple[str, float], ...] = ()
    report: str | None = None
    """Link to its report, relative to the page."""

    @property
    def seconds(self) -> float:
        return sum(seconds for _, seconds in self.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRow:
    """One operator of one repository: how its newest attempt stands, and all of them."""

    newest: Shown
    attempts: tuple[Shown, ...]
    """Newest first."""


def write_dashboard(page: Path) -> int:
    """Writes the page and gives the number of attempts it tells of."""
    shown = tuple(read_attempt(attempt, page.parent) for attempt in all_attempts())
    page.parent.mkdir(parents=True, exist_ok=True)
    part = page.with_suffix(".part")
    part.write_text(dashboard_html(shown, datetime.now(UTC)), encoding="utf-8")
    part.replace(page)
    return len(shown)


def read_attempt(attempt: AttemptFolder, relative_to: Path) -> Shown:
    """One attempt from its folder; one that does not read is shown as that, for a page must not fail of it."""
    began = datetime.fromtimestamp((attempt.path / "request.json").stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M")
    try:
        request, outcome, acceptance, run = (
            attempt.request(),
            attempt.outcome(),
            attempt.acceptance(),
            attempt.agent_run(),
        )
    except MachineryError as damage:
        operator = attempt.id.rsplit("-", 3)[0]
        return Shown(
            id=attempt.id,
            operator=operator,
            repository="",
            number=0,
            engine="",
            began=began,
            verdict="damaged",
            why=str(damage),
        )
    reasons = getattr(outcome, "reasons", ()) or (getattr(outcome, "reason", ""),)
    report = attempt.path / "report.html"
    return Shown(
        id=attempt.id,
        operator=request.operator,
        repository=request.repository,
        number=request.attempt,
        engine=request.engine,
        began=began,
        verdict=outcome.kind if outcome is not None else "not ended",
        why=str(reasons[0])[:400],
        gates=tuple((gate.gate, gate.verdict) for gate in acceptance.gates) if acceptance else (),
        tokens=run.usage.input_tokens + run.usage.output_tokens if run else 0,
        dollars=_dollars(run) if run and request.engine == "anthropic" else None,
        stages=tuple((time.stage, time.seconds) for time in stage_times(attempt)),
        report=os.path.relpath(report, relative_to) if report.is_file() else None,
    )


def by_operator(shown: Iterable[Shown]) -> tuple[OperatorRow, ...]:
    """Sorted by operator, then repository; attempts come in their order and are turned round."""
    found: dict[tuple[str, str], list[Shown]] = {}
    for attempt in shown:
        found.setdefault((attempt.operator, attempt.repository), []).insert(0, attempt)
    return tuple(OperatorRow(newest=found[key][0], attempts=tuple(found[key])) for key in sorted(found))


def dashboard_html(shown: tuple[Shown, ...], now: datetime) -> str:
    """The page. Pure."""
    rows = by_operator(shown)
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.newest.verdict] = counts.get(row.newest.verdict, 0) + 1
    dollars = [attempt.dollars for attempt in shown if attempt.dollars is not None]
    return render(
        TEMPLATE,
        rows=rows,
        gates=GATES,
        counts=sorted(counts.items()),
        attempts=len(shown),
        tokens=sum(attempt.tokens for attempt in shown),
        dollars=sum(dollars, Decimal(0)) if dollars else None,
        seconds=sum(attempt.seconds for attempt in shown),
        longest=max((attempt.seconds for attempt in shown), default=0.0),
        now=now.strftime("%Y-%m-%d %H:%M UTC"),
    )


def _dollars(run: AgentRun) -> Decimal | None:
    """By the table of prices; what was written to the cache counts as the dearer kind."""
    price = price_of(LIVE_MODEL)
    if price is None:
        return None
    used = run.usage
    total = (
        used.input_tokens * price.input
        + used.output_tokens * price.output
        + used.cache_creation_input_tokens * price.cache_write_1h
        + used.cache_read_input_tokens * price.cache_read
    )
    return total / 1_000_000
