"""A role's run is taken in: its report read strictly, its files checked, one line added to the history."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tileport_skill.errors import RequestError
from tileport_skill.pipeline.records import Entry, Problem
from tileport_skill.pipeline.roles import own_files
from tileport_skill.pipeline.validators.checked import Checked, decide
from tileport_skill.pipeline.validators.host import check_host
from tileport_skill.pipeline.validators.kernel import check_kernel
from tileport_skill.pipeline.validators.rest import check_analysis, check_diagnosis, check_performance
from tileport_skill.pipeline.verdicts import Role, Verdict, parse_verdict
from tileport_skill.pipeline.work import Work, hash_tree
from tileport_skill.tilegym.port_files import port_files

MOST_REPORT_BYTES = 200_000
MALFORMED = Verdict.MALFORMED


def check(work: Work, role: Role, report: Path) -> Checked:
    """The validator of one role, on the files as they are."""
    match role:
        case Role.ANALYZER:
            return check_analysis(work)
        case Role.KERNEL_WRITER:
            return check_kernel(work)
        case Role.HOST_BUILDER:
            return check_host(work)
        case Role.PERFORMANCE_VERIFIER:
            return check_performance(work)
        case _:
            return check_diagnosis(work, report)


def submit(work: Work, role: Role, conversation: str | None = None, strayed_too: Sequence[Problem] = ()) -> Entry:
    """Judges the run that is due and records it. Raises `RequestError` if another role is due.

    `conversation`: how it ended, where it did not end by itself; `strayed_too`: what else the role did that is none of
    its business.
    """
    work.expect(role)
    history = work.history()
    report = work.report(role, history)
    tree = hash_tree(Path(work.task().repo))
    claimed, problems = read_report(report, role)
    problems += strayed_too
    problems += _strayed(work, role, history[-1].tree, tree)
    facts: tuple[str, ...] = ()
    verdict = MALFORMED
    if claimed is not None and not problems:
        checked = check(work, role, report)
        problems, facts = list(checked.problems), checked.facts
        verdict = decide(role, claimed, checked)
    entry = Entry(
        number=len(history) + 1,
        role=role,
        verdict=verdict,
        claimed=claimed,
        problems=tuple(problems),
        facts=facts,
        report=report.relative_to(work.root).as_posix() if report.is_file() else None,
        report_sha256=hashlib.sha256(report.read_bytes()).hexdigest() if report.is_file() else None,
        # A run that is to be repaired is held against the tree from before it, so that straying cannot be kept.
        tree=history[-1].tree if verdict is MALFORMED else tree,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        conversation=conversation,
    )
    work.append(entry)
    return entry


def read_report(path: Path, role: Role) -> tuple[Verdict | None, list[Problem]]:
    """The verdict of a report, or why there is none."""
    if path.is_symlink() or not path.is_file():
        return None, [Problem(owner=MALFORMED, text=f"reports/{path.name} is not there")]
    if path.stat().st_size > MOST_REPORT_BYTES:
        return None, [Problem(owner=MALFORMED, text=f"the report has more than {MOST_REPORT_BYTES:,} bytes")]
    try:
        verdict = parse_verdict(path.read_text(encoding="utf-8"), role)
    except UnicodeDecodeError:
        return None, [Problem(owner=MALFORMED, text="the report is no UTF-8 text")]
    return (verdict, []) if isinstance(verdict, Verdict) else (None, [Problem(owner=MALFORMED, text=verdict)])


def _strayed(work: Work, role: Role, before: dict[str, str], after: dict[str, str]) -> list[Problem]:
    try:
        checkout, operator = work.place()
    except RequestError:  # so much is gone that the operator is none any more: then nothing of that was the role's
        return strayed(before, after, frozenset())
    return strayed(before, after, own_files(role, port_files(checkout, operator)))


def strayed(before: dict[str, str], after: dict[str, str], own: frozenset[str]) -> list[Problem]:
    """Files of the checkout that changed and are not the role's: pure."""
    changed = sorted(path for path in {*before, *after} - own if before.get(path) != after.get(path))
    text = f"files that are not this role's changed; undo it: {', '.join(changed[:10])}"
    return [Problem(owner=MALFORMED, text=text)] if changed else []
