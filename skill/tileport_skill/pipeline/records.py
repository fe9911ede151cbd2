"""What the working folder holds: the port that is being made, and one record for each run that ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tileport_skill.pipeline.machine import Ran
from tileport_skill.pipeline.verdicts import Role, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """`port.json`: which operator of which checkout, for which architectures."""

    operator: str
    repo: str
    archs: tuple[str, ...]
    drafted: bool = False
    """Whether the port began at a program's draft that was in the checkout before preflight."""
    told: tuple[str, ...] = ()
    """Texts that every role is pointed at besides its own: why an attempt before this one failed, say."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something a validator found, and whose it is."""

    owner: Verdict
    text: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of `history.jsonl`. Lines are added and never changed."""

    number: int
    role: Role
    verdict: Verdict
    claimed: Verdict | None
    """What the role said; `verdict` differs where its validators know better."""
    problems: tuple[Problem, ...]
    facts: tuple[str, ...]
    """What the validators saw, one sentence each."""
    report: str | None
    """The report's path in the working folder."""
    report_sha256: str | None
    tree: dict[str, str]
    """Hash of every file of the checkout when the run ended: who wrote what follows from two of these."""
    at: str
    conversation: str | None = None
    """How the role's conversation ended, where it did not end by itself; `None` too where there was none to see."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def ran(self) -> Ran:
        return Ran(role=self.role, verdict=self.verdict)
