"""Every sentence the bot says, as Markdown. Pure; the longer texts are templates beside it.

Whatever comes from outside (labels, logs, file names) goes through `pages.markdown`, so that no reply can
notify anyone, break its own layout, or be too long for GitHub.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tileport_bot.bars import text_bars
from tileport_bot.commands import HELP
from tileport_bot.diagnose import OWNERS, Diagnosis
from tileport_bot.driver import Finished
from tileport_bot.github import BaseState, PullRequest
from tileport_bot.status import MAX_ATTEMPTS, Record, Stage, status_marker
from tileport_driver.draft_words import draft_view
from tileport_driver.records import Failed, Gate, NotRun, Outcome, Passed, Ported, Unproved
from tileport_driver.report import first_line_and_rest
from tileport_skill.pages.markdown import code, fit, plain
from tileport_skill.pages.render import render

TEMPLATES = Path(__file__).parent / "templates"

NOT_MOVED = BaseState(moved=False)

SIGN_OFF = "Signed-off-by: tileport[bot] <tileport[bot]@users.noreply.github.com>"

_PATH = tuple(stage for stage in Stage if not stage.is_end)

_NOW: Mapping[Stage, str] = {
    Stage.RECEIVED: "The request has arrived.",
    Stage.AUTHORISED: "The request is accepted.",
    Stage.QUEUED: "It waits for its turn.",
    Stage.PREPARING: "A fresh checkout is made, without any existing port of the operator.",
    Stage.RUNNING: "The agent writes the port in a container without network.",
    Stage.CAPTURED: "What the agent left is taken as a patch.",
    Stage.CHECKING: "The patch is judged on a clean checkout, away from the agent.",
    Stage.PUBLISHING: "The branch and the pull request are written.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How an attempt ended, for the status comment."""

    outcome: Outcome
    pull_request: PullRequest | None = None
    diagnosis: Diagnosis | None = None
    finished: Finished | None = None


def status_comment(record: Record, *, updated: str, result: Result | None = None) -> str:
    """The one comment that is edited in place from `received` to an end."""
    text = render(
        TEMPLATES / "status.md.j2",
        marker=status_marker(record),
        record=record,
        title=_title(record, result),
        trail=_trail(record.stage),
        now=_NOW.get(record.stage),
        result=result,
        missing=_missing(result),
        owners=OWNERS,
        max_attempts=MAX_ATTEMPTS,
        updated=updated,
    )
    return fit(text)


def how_it_ended(outcome: Outcome, diagnosis: Diagnosis | None) -> str:
    """One line for the record's history."""
    gate = f" at the gate {diagnosis.gate}" if diagnosis and diagnosis.gate else ""
    return f"{outcome.kind}{gate}"


def how_it_stands(record: Record, result: Result | None) -> str:
    """One line for the log."""
    if result is None:
        return str(record.stage)
    link = f": {result.pull_request.link}" if result.pull_request else ""
    return f"{record.stage}: {how_it_ended(result.outcome, result.diagnosis)}{link}"


def pull_request_body(
    record: Record,
    *,
    issue: int,
    finished: Finished,
    delivery_branch: str,
    base: BaseState = NOT_MOVED,
    base_branch: str = "main",
    starts_checks: bool = True,
) -> str:
    """What a reviewer wants to know, with the one command for each check."""
    gates = finished.acceptance.gates if finished.acceptance else ()
    reruns = {rerun.gate: rerun.command for rerun in finished.reruns}
    text = render(
        TEMPLATES / "pull_request.md.j2",
        marker=f"<!-- tileport:pull-request {json.dumps(record.operator)} -->",
        record=record,
        issue=issue,
        gates=[(gate, _evidence(gate)) for gate in gates],
        missing=[gate for gate in gates if isinstance(gate, NotRun)],
        failed=[gate for gate in gates if isinstance(gate, Failed)],
        finished=finished,
        draft=draft_view(finished.draft) if finished.draft else None,
        branch=delivery_branch,
        reruns=[(gate.gate, reruns[gate.gate]) for gate in gates if gate.gate in reruns],
        bars=text_bars(finished.timed_rows),
        base=base,
        base_branch=base_branch,
        starts_checks=starts_checks,
        sign_off=SIGN_OFF,
    )
    return fit(text)


def refused(reason: str) -> str:
    return plain(reason)


def did_you_mean(wrote: str, meant: str) -> str:
    return f"{code(wrote)} is not a command. Did you mean {code(meant)}?\n\n{help_text()}"


def help_text() -> str:
    rows = "\n".join(f"| {code(usage)} | {plain(does)} |" for usage, does in HELP.items())
    return f"| command | does |\n|---|---|\n{rows}\n\nOnly those who may write to this repository are heard."


def status_list(records: tuple[Record, ...]) -> str:
    if not records:
        return "Nothing was asked for in this issue yet."
    rows = "\n".join(
        f"| {code(record.operator)} | {record.stage} | {record.attempt} of {MAX_ATTEMPTS} |" for record in records
    )
    return f"| operator | stage | attempt |\n|---|---|---|\n{rows}"


def name_one(command: str, operators: list[str]) -> str:
    if not operators:
        return f"There is nothing here that {code(command)} could mean."
    return f"Which one? {' or '.join(code(f'{command} {operator}') for operator in operators)}"


def nothing_to_cancel() -> str:
    return "Nothing is being worked on in this issue."


def asked_for_elsewhere(operator: str, issue: int) -> str:
    where = f"#{issue}" if issue else "a batch"
    return f"{code(operator)} is being worked on already, asked for in {where}. There is one port of it at a time."


def nothing_to_port() -> str:
    return "There is nothing to port: every operator has its port, is being worked on, or has had its attempts."


def batch_comment(operators: list[str]) -> str:
    """What a batch will do; each operator gets a comment of its own when its turn comes."""
    if not operators:
        return nothing_to_port()
    names = "\n".join(f"1. {code(operator)}" for operator in operators)
    head = f"{len(operators)} operators are queued, in this order; each is told of in a comment of its own."
    return fit(f"{head}\n\n{names}")


def no_queue(operator: str) -> str:
    return (
        f"No attempt at {code(operator)} is kept here, so there is nothing to queue for a machine with a GPU. "
        "The pull request says how each gate is run by hand."
    )


def nothing_to_check(operator: str) -> str:
    return f"No gate is open for {code(operator)}: its newest attempt does not wait for a GPU."


def gates_queued(operator: str) -> str:
    return (
        f"The gates of {code(operator)} that need a GPU are queued; "
        f"{code('tileport worker --queue gpu')} on a machine with one takes them."
    )


def no_attempts_left(record: Record) -> str:
    return (
        f"Both attempts at {code(record.operator)} are spent, and its reference has not changed since. "
        "The status comment above says how they ended; a change of the reference makes room for new ones."
    )


def _title(record: Record, result: Result | None) -> str:
    operator = code(record.operator)
    if record.stage is Stage.CANCELLED:
        return f"Porting {operator}: cancelled"
    if result is None:
        return f"Porting {operator}: {record.stage}"
    said = {
        "ported": f"{operator} is ported",
        "unproved": f"{operator} is ported, but not yet proved",
        "not ported": f"{operator} was not ported",
        "refused": f"The request to port {operator} was refused",
        "failed": f"The attempt at {operator} could not be finished",
    }
    return said[result.outcome.kind]


def _trail(stage: Stage) -> str:
    """The way a request goes, with where it is: `received ✓ → **queued** → preparing`."""
    if stage.is_end:
        return f"{' → '.join(_PATH)} → **{stage}**" if stage is Stage.DONE else f"**{stage}**"
    at = _PATH.index(stage)
    said = [f"{name} ✓" if index < at else name for index, name in enumerate(_PATH)]
    said[at] = f"**{stage}**"
    return " → ".join([*said, "done"])


def _missing(result: Result | None) -> tuple[NotRun, ...]:
    return result.outcome.missing if result and isinstance(result.outcome, Unproved) else ()


def _evidence(gate: Gate) -> tuple[str, ...]:
    """What a gate found, short enough for a row; all of it is in the report."""
    match gate:
        case Passed(evidence=sentences) | Failed(reasons=sentences):
            lines = [first_line_and_rest(sentence)[0] for sentence in sentences[:6]]
            said = [line if len(line) <= 400 else f"{line[:399]}…" for line in lines]
            return (*said, *([f"{len(sentences) - 6} more in the report."] if len(sentences) > 6 else []))
        case NotRun(why=why):
            return (why,)


def delivered(outcome: Outcome) -> Ported | Unproved | None:
    """The outcome if a branch came out of it."""
    return outcome if isinstance(outcome, Ported | Unproved) else None
