"""`--check`: a draft's kernels proved by `verify`, its wrapper by the dispatch check; the table of what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import record_calls
from tileport_skill.draft import dispatch
from tileport_skill.draft.crossing import c_function
from tileport_skill.draft.dispatch import Agreement, agreement
from tileport_skill.draft.measure import Measured
from tileport_skill.draft.operator import KernelDraft, Only, Refusal, draft_kernel
from tileport_skill.draft.overlay import lay_out
from tileport_skill.emit.program import Emitter
from tileport_skill.tilegym.operators import Checkout, Operator
from tileport_skill.tileir.verdicts import Different, Equal, Unknown, Verdict
from tileport_skill.verify import Row, verify_kernel

OUT_OF_TIME = ("did not end within", "more time than was allowed")
"""How the ladder's reasons say it."""


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


def draft_proved(
    checkout: Checkout,
    operator: Operator,
    captures: Sequence[Capture],
    emitter: Emitter,
    *,
    declare: bool = False,
    route: Only | None = None,
) -> tuple[KernelDraft, tuple[Row, ...]]:
    """The draft and its proof. A kernel whose translation is not equal is tried from its Tile IR, and that is kept if
    less is wrong then.
    """
    known = {one.id: one for captured in captures for one in captured.specialisations}

    def attempt(untrusted: Mapping[str, str]) -> tuple[KernelDraft, tuple[Row, ...]]:
        draft = draft_kernel(
            checkout,
            operator,
            list(known.values()),
            captures[0].arch,
            declare=declare,
            route=route,
            untrusted=untrusted,
            emitter=lambda: emitter,
        )
        return draft, prove(draft, captures, emitter)

    first = attempt({})
    if route is None and (wrong := _mistranslated(*first)):
        second = attempt(wrong)
        if is_better(lines_of(*second), lines_of(*first)):
            return second
    return first


def prove(draft: KernelDraft, captures: Sequence[Capture], emitter: Emitter) -> tuple[Row, ...]:
    """Every captured launch of the kernels beside what the file does for it; nothing where there is no file."""
    if draft.text is None:
        return ()
    with TemporaryDirectory(prefix="tileport-draft-") as folder:
        kernel = Path(folder) / "kernel.rs"
        kernel.write_text(draft.text, encoding="utf-8")
        rows = [verify_kernel(captured, kernel, emitter, chosen=draft.chosen) for captured in captures]
    return tuple(row for found in rows for row in found)


def lines_of(draft: KernelDraft, rows: Sequence[Row]) -> tuple[Line, ...]:
    """A line for every entry and every refusal."""
    made = [_line(one, rows, [m.entry for m in draft.translated if m.kernel == one.kernel]) for one in draft.translated]
    refused = (
        Line(kernel=one.kernel, equal={}, different=0, unknown=0, why=(), measured=None, refused=one)
        for one in draft.refused
    )
    return (*made, *refused)


def _mistranslated(draft: KernelDraft, rows: Sequence[Row]) -> dict[str, str]:
    translated = {one.kernel for one in draft.translated if one.route == "Python source"}
    wrong = (row.kernel for row in rows if row.kernel in translated and _speaks_against(row.verdict))
    return dict.fromkeys(wrong, "its translation was not shown equal")


def _speaks_against(verdict: Verdict) -> bool:
    """A proof that ran out of time, on a slow machine or of a large kernel, does not: another draft would not help."""
    if isinstance(verdict, Unknown):
        return not any(late in reason for reason in verdict.reasons for late in OUT_OF_TIME)
    return not isinstance(verdict, Equal)


def is_better(second: Sequence[Line], first: Sequence[Line]) -> bool:
    """Whether less is wrong. A kernel that is refused is worse than one of which a part is not shown equal."""
    return _wrong(second) < _wrong(first)


def _wrong(lines: Sequence[Line]) -> tuple[int, int]:
    return sum(one.refused is not None for one in lines), sum(one.different + one.unknown for one in lines)


def check_dispatch(
    checkout: Checkout,
    operator: Operator,
    draft: KernelDraft,
    wrapper: str,
    captures: Sequence[Capture],
    *,
    tuning: bool = True,
) -> tuple[Agreement, ...]:
    """What `wrapper` asks of its launcher in the operator's tests, against `captures`: one line an architecture."""
    functions = tuple(c_function(operator.name, entry) for entry in draft.entries)
    archs = [captured.arch for captured in captures]
    with TemporaryDirectory(prefix="tileport-dispatch-") as folder:
        copy = lay_out(checkout, operator, wrapper, Path(folder) / "checkout")
        recorded = record_calls(copy, [operator], archs, Path(folder) / "out", tuning=tuning, again=True)
    return tuple(agreement(*both, functions, draft.chosen) for both in zip(captures, recorded, strict=True))


def _line(one: Measured, rows: Sequence[Row], entries: Sequence[str]) -> Line:
    """Of one entry; what no entry is for goes to the kernel's first."""
    first = one.entry == entries[0]
    mine = [row for row in rows if row.kernel == one.kernel]
    verdicts = [row.verdict for row in mine if row.entry == one.entry or (first and row.entry not in entries)]
    equal = Counter(str(verdict.proof.rung) for verdict in verdicts if isinstance(verdict, Equal))
    reasons = [reason for verdict in verdicts for reason in _reasons(verdict)]
    return Line(
        kernel=one.kernel,
        equal=dict(equal),
        different=sum(verdict.verdict == "different" for verdict in verdicts),
        unknown=sum(verdict.verdict == "unknown" for verdict in verdicts),
        why=tuple(dict.fromkeys(reasons)),
        measured=one,
        refused=None,
    )


def _reasons(verdict: Verdict) -> tuple[str, ...]:
    match verdict:
        case Different(witness=witness, differences=differences):
            seen = [one.text for one in differences if one.severity != "note"]
            return (f"{witness.kind}, {witness.where}: {witness.a} beside {witness.b}; {'; '.join(seen[:3])}",)
        case Unknown(reasons=reasons):
            return reasons
    return ()


def exit_status(lines: Sequence[Line]) -> int:
    """0 every kernel translated and none known to differ, 10 one is different, 11 one is refused or not known."""
    if any(line.different for line in lines):
        return 10
    return 11 if any(line.unknown or line.refused for line in lines) else 0


def checked_status(lines: Sequence[Line], agreements: Sequence[Agreement] | None) -> int:
    """The same where a proof was asked for: 0 says that every kernel was shown equal and every launch agrees.

    None for kernels alone, which launch nothing.
    """
    statuses = (exit_status(lines), 0 if agreements is None else dispatch.exit_status(agreements))
    if 10 in statuses:
        return 10
    shown = bool(lines) and all(line.equal for line in lines)
    return 0 if statuses == (0, 0) and shown else 11
