"""The rows of a verification for people: grouped by verdict, kernel and reason, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tileport_skill.capture.records import Hints
from tileport_skill.pages.render import render
from tileport_skill.tileir.verdicts import Difference, Equal, Proof, Verdict
from tileport_skill.verify import Row, exit_status

TEMPLATE = Path(__file__).parent / "templates" / "verify.html.j2"
ORDER = {"different": 0, "unknown": 1, "equal": 2}
OVERALL = {0: "equal", 10: "different", 11: "unknown"}


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that say the same."""

    verdict: str
    kernel: str
    arch: str
    why: str
    rows: tuple[Row, ...]

    @property
    def differences(self) -> tuple[Difference, ...]:
        return self.rows[0].verdict.differences


def grouped(rows: Sequence[Row]) -> tuple[Group, ...]:
    """Worst first; the rows of a group differ in element types, constants and hints."""
    found: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.verdict.verdict, row.kernel, row.arch, why(row)), []).append(row)
    groups = [Group(*key, tuple(members)) for key, members in found.items()]
    return tuple(sorted(groups, key=lambda g: (ORDER[g.verdict], g.kernel, g.arch, g.why)))


def why(row: Row) -> str:
    """One sentence or two on a verdict, without the numbers that differ from row to row."""
    said = reason(row.verdict)
    if row.untried:
        return f"Not counted, for the port's speed alone can suffer: {said}"
    return said if row.counts else f"Launched by the backward pass only, not counted: {said}"


def reason(verdict: Verdict) -> str:
    if isinstance(verdict, Equal):
        return proved(verdict.proof)
    if verdict.verdict == "different":
        witness = verdict.witness
        return f"Shown by {witness.kind}: at {witness.where} the first gives {witness.a}, the second {witness.b}."
    return " ".join(reason for reason in verdict.reasons if "inputs gave the same" not in reason)


def proved(proof: Proof) -> str:
    """The rung, and what the proof leans on."""
    parts = [f"By {proof.rung}"]
    if proof.rules:
        parts.append(f"rules: {', '.join(proof.rules)}")
    if proof.over_reals:
        parts.append("over the real numbers, so results may differ by rounding")
    parts += [f"while {condition}" for condition in proof.while_true]
    return "; ".join(parts) + "."


def page(operator: str, rows: Sequence[Row]) -> str:
    """The whole of it as one HTML page."""
    counts = Counter((row.arch, row.verdict.verdict) for row in rows)
    return render(
        TEMPLATE,
        operator=operator,
        overall=OVERALL[exit_status(rows)],
        rows=rows,
        counts=[(f"{arch}, {verdict}", count) for (arch, verdict), count in sorted(counts.items())],
        groups=[_shown(group) for group in grouped(rows)],
    )


def _shown(group: Group) -> dict[str, object]:
    rows = [
        {
            "dtypes": row.dtypes,
            "constants": row.constants,
            "hints": spelled(row.hints),
            "entry": row.entry,
            "launches": row.launches,
            "verdict": row.verdict,
        }
        for row in group.rows
    ]
    return {
        "verdict": group.verdict,
        "kernel": group.kernel,
        "arch": group.arch,
        "why": group.why,
        "rows": rows,
        "differences": group.differences,
    }


def spelled(hints: Hints) -> str:
    """`occupancy 2, num_ctas 1`, or nothing."""
    return ", ".join(f"{name} {value}" for name, value in asdict(hints).items() if value is not None)
