"""What a validator found, and the verdict that stands: pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tileport_skill.pipeline.records import Problem
from tileport_skill.pipeline.verdicts import Role, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Facts from the files. `measured` is a verdict that the files themselves give, whatever the role says."""

    problems: tuple[Problem, ...]
    facts: tuple[str, ...]
    measured: Verdict | None = None
    malformed: bool = False
    """Whether something is missing that the role has to leave; then it is asked for it once more."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def decide(role: Role, claimed: Verdict, checked: Checked) -> Verdict:
    """The claim where nothing speaks against it; a claim of success never stands against a problem."""
    if checked.malformed:
        return Verdict.MALFORMED
    if checked.measured is not None:
        return checked.measured
    if claimed not in {Verdict.PASS, Verdict.EQUAL} or not checked.problems:
        return claimed
    match role:
        case Role.ANALYZER:
            return Verdict.FAIL
        case Role.KERNEL_WRITER:
            return Verdict.NOT_EQUAL
        case Role.HOST_BUILDER:
            return checked.problems[0].owner
        case _:
            return Verdict.INCONCLUSIVE
