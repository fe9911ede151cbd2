"""`--check`: a draft laid beside its operator's checkout and proved by `verify`; the table of what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tileport_skill.capture.records import Capture
from tileport_skill.draft.measure import Measured
from tileport_skill.draft.operator import KernelDraft, Refusal
from tileport_skill.emit.program import Emitter
from tileport_skill.tileir.verdicts import Equal
from tileport_skill.verify import Row, verify_kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One kernel of the table."""

    kernel: str
    equal: dict[str, int]
    """Specialisations by the rung that showed them equal."""
    different: int
    unknown: int
    why: tuple[str, ...]
    """The reasons of what is not equal, each once."""
    measured: Measured | None
    refused: Refusal | None
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def check(draft: KernelDraft, captures: Sequence[Capture], kernel: Path, emitter: Emitter) -> tuple[Line, ...]:
    """Proves the file at `kernel` against `captures`; a line for every kernel, refused ones too."""
    rows: list[Row] = []
    for captured in captures:
        rows += verify_kernel(captured, kernel, emitter, draft.bindings)
    lines = [
        _line(one, rows, [m.entry for m in draft.translated if m.kernel == one.kernel]) for one in draft.translated
    ]
    return (*lines, *(refused_line(one) for one in draft.refused))


def refused_line(refusal: Refusal) -> Line:
    return Line(kernel=refusal.kernel, equal={}, different=0, unknown=0, why=(), measured=None, refused=refusal)


def _line(one: Measured, rows: Sequence[Row], entries: Sequence[str]) -> Line:
    """Of one entry; what no entry is for goes to the kernel's first."""
    first = one.entry == entries[0]
    mine = [row for row in rows if row.kernel == one.kernel]
    verdicts = [row.verdict for row in mine if row.entry == one.entry or (first and row.entry not in entries)]
    equal = Counter(str(verdict.proof.rung) for verdict in verdicts if isinstance(verdict, Equal))
    reasons = [reason for v in verdicts for reason in getattr(v, "reasons", ())]
    return Line(
        kernel=one.kernel,
        equal=dict(equal),
        different=sum(verdict.verdict == "different" for verdict in verdicts),
        unknown=sum(verdict.verdict == "unknown" for verdict in verdicts),
        why=tuple(dict.fromkeys(reasons)),
        measured=one,
        refused=None,
    )


def exit_status(lines: Sequence[Line]) -> int:
    """0 every kernel translated and equal, 10 one is different, 11 one is refused or not known to be equal."""
    if any(line.different for line in lines):
        return 10
    return 11 if any(line.unknown or line.refused for line in lines) else 0
