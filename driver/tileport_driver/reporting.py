"""An attempt's folder -> `report.md` and `report.html`: reads the records, leaves the words to `report.py`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from pydantic import TypeAdapter

from tileport_driver.broker.transcript import Exchange, read_transcript
from tileport_driver.gpu.performance import FOLDER as TIMING
from tileport_driver.records import Outcome
from tileport_driver.report import IrRow, ReportInput, RoleCost, StageTime, Turn, report_html, report_markdown
from tileport_driver.store import AttemptFolder
from tileport_driver.tile_ir_words import table_rows
from tileport_skill.agent.tools import describe
from tileport_skill.errors import MachineryError, TileportError
from tileport_skill.judge.findings import Findings
from tileport_skill.timing import gate
from tileport_skill.timing.records import Timing

_LONGEST_SUMMARY = 400


def write_report(attempt: AttemptFolder) -> tuple[Path, Path]:
    """Writes both forms into the attempt's folder; doing it again writes the same."""
    outcome = attempt.outcome()
    if outcome is None:
        raise MachineryError(f"{attempt.id} has no outcome to report yet; resume it.")
    report = gather(attempt, outcome)
    markdown, html = attempt.path / "report.md", attempt.path / "report.html"
    markdown.write_text(report_markdown(report), encoding="utf-8")
    html.write_text(report_html(report), encoding="utf-8")
    return markdown, html


def gather(attempt: AttemptFolder, outcome: Outcome) -> ReportInput:
    """Everything the report says, from the folder alone."""
    request, checkout = attempt.request(), attempt.checkout()
    started = datetime.fromtimestamp((attempt.path / "request.json").stat().st_mtime, UTC)
    return ReportInput(
        operator=request.operator,
        repository=request.repository,
        base_commit=request.base_commit,
        attempt_id=attempt.id,
        attempt=request.attempt,
        started=started.strftime("%Y-%m-%d %H:%M UTC"),
        stages=stage_times(attempt),
        outcome=outcome,
        hidden=checkout.hidden,
        agent_run=attempt.agent_run(),
        draft_run=attempt.draft_run(),
        turns=_turns(attempt),
        role_costs=role_costs(attempt),
        patch=attempt.patch(),
        diff=attempt.diff.read_text(encoding="utf-8", errors="replace") if attempt.diff.is_file() else "",
        acceptance=attempt.acceptance(),
        ir_rows=ir_rows(attempt),
        timings=timings(attempt),
    )


def ir_rows(attempt: AttemptFolder) -> tuple[IrRow, ...]:
    """The compared specialisations, as the judging container found them; empty if it came to none."""
    path = attempt.evidence / "findings.json"
    if not path.is_file():
        return ()
    findings = TypeAdapter(Findings).validate_json(path.read_bytes())
    rows = findings.tile_ir.rows if findings.tile_ir else ()
    return table_rows(rows)


def timings(attempt: AttemptFolder) -> tuple[Timing, ...]:
    """What was measured on a GPU, judged again from the samples; what cannot be read is left out: its gate said why."""
    folder = attempt.gpu / TIMING
    if not (folder / "plan.json").is_file():
        return ()
    try:
        return gate.read(folder, [attempt.request().operator])
    except (TileportError, ValueError, KeyError):
        return ()


def stage_times(attempt: AttemptFolder) -> tuple[StageTime, ...]:
    """How long each stage took, in the order they were run, a resumed one once more."""
    path = attempt.path / "stages.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    times = [json.loads(line) for line in lines]
    return tuple(StageTime(time["stage"], time["seconds"]) for time in times)


def role_costs(attempt: AttemptFolder) -> tuple[RoleCost, ...]:
    """What each role used, in the order in which they began; of the broker's own record."""
    costs: dict[str, RoleCost] = {}
    for record in read_transcript(attempt.transcript):
        if not isinstance(record, Exchange) or record.role is None:
            continue
        so_far = costs.get(record.role, RoleCost(record.role, 0, 0, 0, Decimal(0)))
        used = record.usage
        tokens = used.input_tokens + used.output_tokens + used.cache_creation_input_tokens
        costs[record.role] = RoleCost(
            record.role,
            so_far.exchanges + 1,
            so_far.tokens + tokens + used.cache_read_input_tokens,
            so_far.cached + used.cache_read_input_tokens,
            so_far.dollars + record.dollars,
        )
    return tuple(costs.values())


def _turns(attempt: AttemptFolder) -> tuple[Turn, ...]:
    """What the model said and did, turn by turn, from the broker's own record."""
    if not attempt.transcript.is_file():
        return ()
    exchanges = [record for record in read_transcript(attempt.transcript) if isinstance(record, Exchange)]
    return tuple(turn for exchange in exchanges for turn in _turns_of(exchange))


def _turns_of(exchange: Exchange) -> list[Turn]:
    turns = []
    for block in exchange.response["content"]:
        if block["type"] == "text" and block["text"].strip():
            turns.append(Turn("assistant", "says", _shortened(block["text"])))
        elif block["type"] == "tool_use":
            summary = describe(block["name"], block["input"])
            action, _, rest = summary.partition(" ")
            turns.append(Turn("assistant", action.rstrip(":"), _shortened(rest)))
    return turns


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SUMMARY else text[:_LONGEST_SUMMARY] + " ..."
