"""An attempt's records as the report a person reads: `report.html` and `report.md`. Pure: no file is opened.

What the agent said is shown as its word; verdicts come from the acceptance alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal, NamedTuple

from markupsafe import Markup

from tileport_driver.draft_words import COSTS_NOTHING, draft_view
from tileport_driver.records import (
    Acceptance,
    AgentRun,
    Delivery,
    DraftRun,
    Failed,
    Gate,
    Hidden,
    MachineryFailed,
    NotPorted,
    NotRun,
    Outcome,
    Passed,
    Patch,
    Ported,
    Refused,
    Unproved,
)
from tileport_skill.pages.render import render
from tileport_skill.pipeline.diagnosis import overruled
from tileport_skill.timing import picture
from tileport_skill.timing.records import Timing

TEMPLATES = Path(__file__).parent / "templates"
MAX_DIFF_LINES = 1_500
"""Lines of one file's diff that a page shows; the rest is in `patch.diff`."""


class Turn(NamedTuple):
    """One step of the conversation, from the broker's transcript."""

    role: str
    """`assistant`, or the tool's name for a result."""
    action: str
    """`bash`, `edit`, `view`, `says`…"""
    summary: str


class RoleCost(NamedTuple):
    """By the API's own usage figures; of a scripted model's, made up from bytes."""

    role: str
    exchanges: int
    tokens: int
    cached: int
    """Of the tokens, those read from the cache."""
    dollars: Decimal


class StageTime(NamedTuple):
    stage: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IrRow:
    """One specialisation whose Tile IR was compared."""

    kernel: str
    dtype: str
    arch: str
    verdict: Literal["equal", "different", "unknown"]
    proof: str
    """By what it is equal, the first difference, or why it is not known."""
    reference_sha256: str | None = None
    """Of the cubin made from the reference's Tile IR; None when none was made."""
    port_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInput:
    """Everything the report says. None and empty tuples stand for stages that the attempt did not reach."""

    operator: str
    repository: str
    base_commit: str
    attempt_id: str
    attempt: int
    started: str
    """When, as the reader is to see it."""
    stages: tuple[StageTime, ...]
    outcome: Outcome
    hidden: tuple[Hidden, ...] = ()
    agent_run: AgentRun | None = None
    draft_run: DraftRun | None = None
    """What the agent began at; without an agent's run, all there is."""

    @property
    def no_model(self) -> bool:
        return self.draft_run is not None and self.agent_run is None

    turns: tuple[Turn, ...] = ()
    role_costs: tuple[RoleCost, ...] = ()
    """What each role used, where the port was made by roles."""
    patch: Patch | None = None
    diff: str = ""
    acceptance: Acceptance | None = None
    ir_rows: tuple[IrRow, ...] = ()
    timings: tuple[Timing, ...] = ()
    """What was measured on a GPU; none where the performance gate did not run."""


class Headline(NamedTuple):
    verdict: str
    title: str
    sentence: str


class FileDiff(NamedTuple):
    path: str
    added: int
    removed: int
    lines: tuple[tuple[str, str], ...]
    """Each with its kind: `added`, `removed`, `hunk`, `head` or `same`."""
    left_out: int


def report_html(report: ReportInput) -> str:
    """One self-contained page."""
    return render(TEMPLATES / "report.html.j2", **_context(report))


def report_markdown(report: ReportInput) -> str:
    """The same for a terminal, a comment or a `git show`; links are relative to the attempt's folder."""
    return render(TEMPLATES / "report.md.j2", **_context(report))


def headline(outcome: Outcome, operator: str, *, draft: bool = False) -> Headline:
    """How the attempt ended, in a title and one sentence; of a draft, that it costs nothing."""
    match outcome:
        case Ported(delivery=delivery):
            return Headline(
                "ported",
                f"{operator} is ported",
                f"Every gate passed. {_where(delivery)}.",
            )
        case Unproved(delivery=delivery, missing=missing):
            gates = _listed([gate.gate for gate in missing])
            return Headline(
                "unproved",
                f"{operator} is ported, but not yet proved",
                f"No gate failed, and {gates} could not run here. {_where(delivery)}; this costs no attempt.",
            )
        case NotPorted(reasons=reasons):
            sentence = f"Nothing was delivered. {_sentences(reasons)}"
            return Headline(
                "not ported", f"{operator} was not ported", f"{sentence} {COSTS_NOTHING}" if draft else sentence
            )
        case Refused(reason=reason):
            return Headline("refused", f"The request for {operator} was refused", reason)
        case MachineryFailed(reason=reason):
            return Headline(
                "failed",
                f"The attempt at {operator} could not be finished",
                f"Our machinery failed, so this costs no attempt. {reason}",
            )


def _where(delivery: Delivery) -> str:
    return f"The port is on branch `{delivery.branch}`, commit `{delivery.commit[:12]}`"


def split_diff(diff: str) -> tuple[FileDiff, ...]:
    """A unified diff of git's, file by file in its order."""
    # A line of content begins with a space, `+`, `-` or `\`, so this one can only be git's own.
    parts = re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE)
    return tuple(_file_diff(part) for part in parts if part.startswith("diff --git "))


def _file_diff(part: str) -> FileDiff:
    lines = part.rstrip("\n").split("\n")
    kinds: list[tuple[str, str]] = []
    in_hunk = False
    for line in lines:
        in_hunk = in_hunk or line.startswith("@@")
        # The path stands above the file, and blob hashes tell a reader nothing.
        if in_hunk or not line.startswith(("diff --git ", "index ", "--- ", "+++ ")):
            kinds.append((_kind(line, in_hunk), line))
    return FileDiff(
        path=_path(lines),
        added=sum(kind == "added" for kind, _ in kinds),
        removed=sum(kind == "removed" for kind, _ in kinds),
        lines=tuple(kinds[:MAX_DIFF_LINES]),
        left_out=max(0, len(kinds) - MAX_DIFF_LINES),
    )


def _kind(line: str, in_hunk: bool) -> str:
    if not in_hunk:
        return "head"
    return {"@": "hunk", "+": "added", "-": "removed"}.get(line[:1], "same")


def _path(lines: list[str]) -> str:
    names = {line[:4]: line[6:] for line in reversed(lines) if line.startswith(("+++ b/", "--- a/"))}
    return names.get("+++ ") or names.get("--- ") or lines[0].rpartition(" b/")[2]


def _context(report: ReportInput) -> dict[str, object]:
    gates = report.acceptance.gates if report.acceptance else ()
    return {
        "report": report,
        "headline": headline(report.outcome, report.operator, draft=report.no_model),
        "draft": draft_view(report.draft_run, alone=report.no_model) if report.draft_run else None,
        "author": "program" if report.no_model else "agent",
        "gates": [_gate_view(gate) for gate in gates],
        "missing": [gate for gate in gates if isinstance(gate, NotRun)],
        "roles": _role_views(report.agent_run),
        "files": split_diff(report.diff),
        "tools": _tools_used(report.turns),
        # Made by a template of ours, in which everything is escaped.
        "plot": Markup(picture.svg(report.timings)) if report.timings else None,
        "bars": [(timing, picture.text(timing)) for timing in report.timings],
        "total_seconds": sum(stage.seconds for stage in report.stages),
    }


class RoleView(NamedTuple):
    """One run of a role, as pages show it."""

    number: int
    role: str
    verdict: str
    """With what the role itself said, where programs found otherwise."""
    found: str


def _role_views(run: AgentRun | None) -> list[RoleView]:
    """Every run in order, so that each wrong turn stands where it was taken."""
    views = []
    for turn in run.roles if run is not None else ():
        claimed = overruled(turn)
        said = f", said {claimed}" if claimed is not None else ""
        ended = [f"its conversation ended: {turn.conversation}"] if turn.conversation else []
        found = [first_line_and_rest(text)[0] for text in turn.problems[:3]] or list(turn.facts[:3])
        views.append(RoleView(turn.number, str(turn.role), f"{turn.verdict}{said}", "; ".join([*found, *ended])))
    return views


def _gate_view(gate: Gate) -> dict[str, object]:
    match gate:
        case Passed(evidence=says) | Failed(reasons=says):
            ran: dict[str, object] = {"seconds": gate.seconds, "files": gate.files}
        case NotRun(why=why):
            says, ran = (why,), {"seconds": None, "files": ()}
    return {"gate": gate.gate, "verdict": gate.verdict, "says": [first_line_and_rest(text) for text in says], **ran}


def first_line_and_rest(text: str) -> tuple[str, str]:
    """A gate's sentence, and the excerpt it may bring along below it."""
    first, _, rest = text.partition("\n")
    return first.rstrip().removesuffix(":") if rest.strip() else first, rest.strip("\n")


def _tools_used(turns: tuple[Turn, ...]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for turn in turns:
        if turn.role == "assistant" and turn.action != "says":
            counts[turn.action] = counts.get(turn.action, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _sentences(reasons: tuple[str, ...], most: int = 3) -> str:
    """The first reasons as running text; all of them stand below, at their gates."""
    said = [first_line_and_rest(reason)[0] for reason in reasons]
    text = " ".join(line if line.endswith((".", "!", "?")) else f"{line}." for line in said[:most])
    return f"{text} {len(said) - most} more below." if len(said) > most else text


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
