"""A review as a check run and as the one comment of its pull request. Pure."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tileport_bot.code_records import Annotation, CheckRun, Conclusion
from tileport_bot.review_records import PortReview, Review
from tileport_driver.records import Failed, Gate, NotRun, Passed
from tileport_driver.report import first_line_and_rest
from tileport_skill.pages.markdown import fit
from tileport_skill.pages.render import render

TEMPLATES = Path(__file__).parent / "templates"
CHECK_NAME = "tileport"
_MARKER = re.compile(r"<!-- tileport:review (\{.*?\}) -->")
_CPU_GATES = ("policy", "apply", "build", "tile-ir")


def conclusion(review: Review) -> Conclusion:
    """Neutral where our own machinery failed: that is no word against the code."""
    if review.refused or any(port.is_wrong for port in review.ports):
        return "failure"
    return "neutral" if any(port.broke_down for port in review.ports) or not review.ports else "success"


def check_run(review: Review) -> CheckRun:
    return CheckRun(
        name=CHECK_NAME,
        head=review.head,
        conclusion=conclusion(review),
        title=headline(review),
        summary=comment(review).partition("\n")[2],
        annotations=remarks(review),
    )


def headline(review: Review) -> str:
    if review.refused:
        return "The pull request cannot be read"
    rows = [row for port in review.ports for row in port.ir_rows]
    equal = sum(row.verdict == "equal" for row in rows)
    errors = sum(port.errors for port in review.ports)
    warnings = sum(len(port.findings) for port in review.ports) - errors
    said = [f"{equal} of {len(rows)} compiled kernels equal"] if rows else []
    said += [f"{_count(errors, 'error')}, {_count(warnings, 'warning')} by the rules"]
    broken = [port.operator for port in review.ports if port.broke_down]
    return "; ".join([*said, *([f"not judged: {', '.join(broken)}"] if broken else [])])


def remarks(review: Review) -> tuple[Annotation, ...]:
    """Errors first, as GitHub shows only so many."""
    found = [
        Annotation(
            path=one.path,
            line=one.line,
            level="failure" if one.severity == "error" else "warning",
            title=one.rule,
            message=one.message,
        )
        for port in review.ports
        for one in port.findings
    ]
    found += [
        Annotation(path=mark.path, line=mark.line, level="failure", title=port.operator, message=mark.message)
        for port in review.ports
        for mark in port.marks
    ]
    return tuple(sorted(found, key=lambda one: (one.level != "failure", one.path, one.line)))


def comment(review: Review, *, gpu: str | None = None) -> str:
    """`gpu`: what is known of the gates that need one, once they were asked for."""
    text = render(
        TEMPLATES / "review.md.j2",
        marker=review_marker(review.head),
        review=review,
        verdict=_VERDICTS[conclusion(review)],
        headline=headline(review),
        ports=[(port, _gate_rows(port)) for port in review.ports],
        gpu=gpu,
    )
    return fit(text)


def review_marker(head: str) -> str:
    return f"<!-- tileport:review {json.dumps({'head': head})} -->"


def reviewed_head(body: str) -> str | None:
    """The commit that a comment of ours is about; None if it is no review."""
    found = _MARKER.match(body)
    return str(json.loads(found[1])["head"]) if found else None


_VERDICTS = {
    "success": "Nothing was found against it.",
    "failure": "Something does not hold.",
    "neutral": "It could not be judged.",
}


def _gate_rows(port: PortReview) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(gate.gate, gate.verdict, _said(gate)) for gate in port.gates if gate.gate in _CPU_GATES]


def _said(gate: Gate) -> tuple[str, ...]:
    match gate:
        case Passed(evidence=sentences) | Failed(reasons=sentences):
            lines = [first_line_and_rest(sentence)[0] for sentence in sentences[:6]]
            more = [f"{len(sentences) - 6} more."] if len(sentences) > 6 else []
            return (*(line if len(line) <= 400 else f"{line[:399]}…" for line in lines), *more)
        case NotRun(why=why):
            return (why,)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
