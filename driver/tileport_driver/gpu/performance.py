"""Samples of one operator's timing -> the performance gate. The rule itself is `tileport_skill.timing.judging`'s."""

from __future__ import annotations

from pathlib import Path

from tileport_driver.records import Failed, Gate, NotRun, Passed
from tileport_driver.store import GPU
from tileport_skill.errors import RequestError
from tileport_skill.timing import records
from tileport_skill.timing.gate import read

FOLDER = "timing"
"""In the evidence: the raw samples."""
LIBRARY = "library.sha256"
_SHOWN = 4


def performance_gate(evidence: Path, operator: str, library_sha256: str, how: str) -> Gate:
    """Passed when every row's lower 95 % bound keeps the rule; a measurement that cannot be trusted is not run."""
    folder = evidence / FOLDER
    if not (folder / "plan.json").is_file():
        return NotRun(gate="performance", why=f"The evidence holds no samples ({FOLDER}/plan.json).", how=how)
    written = folder / LIBRARY
    if not written.is_file() or written.read_text(encoding="utf-8").split()[0] != library_sha256:
        raise RequestError(f"{folder} was measured with another library than the one that was judged; run it again.")
    (timing,) = read(folder, [operator])
    return gate_of(timing, how)


def gate_of(timing: records.Timing, how: str) -> Gate:
    """The verdict over all rows, each row a sentence. Pure."""
    files = (f"{GPU}/{FOLDER}/plan.json", f"{GPU}/{FOLDER}/machine.json")
    match timing.verdict:
        case records.Passed():
            return Passed(gate="performance", evidence=_facts(timing), files=files)
        case records.Failed():
            rows = [f"{row.row}: {_ratio(row)}. {_why(row)}" for row in timing.rows if row.verdict.verdict == "failed"]
            more = (f"{len(rows) - _SHOWN} more rows like these.",) if len(rows) > _SHOWN else ()
            return Failed(gate="performance", reasons=(*rows[:_SHOWN], *more), files=files)
        case records.Inconclusive(reasons=reasons):
            rows = [f"{row.row}: {_why(row)}" for row in timing.rows if row.verdict.verdict == "inconclusive"]
            return NotRun(gate="performance", why=" ".join((*reasons, *rows[:_SHOWN])), how=how)


def _facts(timing: records.Timing) -> tuple[str, ...]:
    gpu = timing.machine.get("gpu", "an unknown GPU")
    mean = "" if timing.geometric_mean is None else f", geometric mean {timing.geometric_mean:.3f}"
    head = f"All {len(timing.rows)} rows keep the rule (lower 95 % bound at least 0.95) on {gpu}{mean}."
    return (head, *(f"{row.row}: {_ratio(row)}" for row in timing.rows))


def _ratio(row: records.RowResult) -> str:
    if row.cold is None:
        return "not measured"
    return f"{row.cold.ratio:.3f} of the reference's speed, 95 % between {row.cold.low:.3f} and {row.cold.high:.3f}"


def _why(row: records.RowResult) -> str:
    return " ".join(getattr(row.verdict, "reasons", ()))
