"""The roles, and the one vocabulary in which they end: a report has one line `verdict: WORD`, or it is malformed."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import assert_never


class Role(StrEnum):
    """Who may run. Preflight is a program; the others are agents, judged by programs."""

    PREFLIGHT = "preflight"
    ANALYZER = "analyzer"
    KERNEL_WRITER = "kernel-writer"
    HOST_BUILDER = "host-builder"
    IR_ANALYST = "ir-analyst"
    PERFORMANCE_VERIFIER = "performance-verifier"
    PERFORMANCE_INVESTIGATOR = "performance-investigator"


class Verdict(StrEnum):
    """How a run ended. The word after `fail-` is the owner: whose fault it is."""

    PASS = "pass"
    EQUAL = "equal"
    NOT_EQUAL = "not-equal"
    FAIL = "fail"
    FAIL_HOST = "fail-host"
    FAIL_KERNEL = "fail-kernel"
    FAIL_COMPILER = "fail-compiler"
    FAIL_ENVIRONMENT = "fail-environment"
    BLOCKED = "blocked"
    NOTHING_FOUND = "nothing-found"
    BELOW_BOUND = "below-bound"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not-run"
    MALFORMED = "malformed"
    """No role says this; it is what is recorded where a report is missing or says nothing, or two things."""


def words(role: Role) -> tuple[Verdict, ...]:
    """What a role may say."""
    match role:
        case Role.PREFLIGHT:
            return (Verdict.PASS, Verdict.FAIL)
        case Role.ANALYZER:
            return (Verdict.PASS, Verdict.FAIL, Verdict.BLOCKED)
        case Role.KERNEL_WRITER:
            return (Verdict.EQUAL, Verdict.NOT_EQUAL, Verdict.BLOCKED)
        case Role.HOST_BUILDER:
            owners = (Verdict.FAIL_HOST, Verdict.FAIL_KERNEL, Verdict.FAIL_COMPILER, Verdict.FAIL_ENVIRONMENT)
            return (Verdict.PASS, *owners, Verdict.FAIL)
        case Role.IR_ANALYST:
            return (Verdict.FAIL_KERNEL, Verdict.FAIL_HOST, Verdict.FAIL_COMPILER, Verdict.NOTHING_FOUND)
        case Role.PERFORMANCE_VERIFIER:
            return (Verdict.PASS, Verdict.BELOW_BOUND, Verdict.INCONCLUSIVE, Verdict.NOT_RUN)
        case Role.PERFORMANCE_INVESTIGATOR:
            return (Verdict.FAIL_KERNEL, Verdict.FAIL_HOST, Verdict.NOTHING_FOUND)
        case _:
            assert_never(role)


def parse_verdict(text: str, role: Role) -> Verdict | str:
    """The verdict of a report, or why it has none that counts. Nothing is guessed."""
    lines = [line for line in text.splitlines() if re.match(r"\W*verdict\b", line, re.IGNORECASE)]
    if not lines:
        return "the report has no line `verdict: WORD`"
    if len(lines) > 1:
        return f"the report has {len(lines)} verdict lines: {', '.join(line.strip()[:60] for line in lines[:3])}"
    stated = re.fullmatch(r"verdict: ([a-z-]+)", lines[0])
    allowed = words(role)
    if stated is None or stated[1] not in allowed:
        return f"`{lines[0].strip()[:80]}` is not `verdict: ` and one of {', '.join(allowed)}"
    return Verdict(stated[1])
