"""Why a port was given up and whose it is, from its history alone: `diagnosis.json` for programs, `.md` for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tileport_skill.pipeline.machine import Stop
from tileport_skill.pipeline.records import Entry
from tileport_skill.pipeline.verdicts import Role, Verdict

Owner = Literal["kernel", "host", "compiler", "environment", "agent", "budget", "unknown"]
_OWNERS: dict[Verdict, Owner] = {
    Verdict.FAIL_KERNEL: "kernel",
    Verdict.NOT_EQUAL: "kernel",
    Verdict.FAIL_HOST: "host",
    Verdict.FAIL_COMPILER: "compiler",
    Verdict.FAIL_ENVIRONMENT: "environment",
    Verdict.MALFORMED: "agent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One run of a role, as the history has it."""

    number: int
    role: Role
    verdict: Verdict
    claimed: Verdict | None
    problems: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    conversation: str | None = None
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The end of a port that was given up."""

    why: str
    owner: Owner
    seen: bool
    """Whether a program saw it in the files; else the owner is a role's word."""
    runs: tuple[Turn, ...]
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def last(self) -> Turn:
        return self.runs[-1]


def overruled(run: Turn | Entry) -> Verdict | None:
    """What a role claimed, where the validators found otherwise."""
    return None if run.claimed is run.verdict else run.claimed


def said_otherwise(run: Turn | Entry) -> str:
    """The same as a remark behind the verdict; empty where nothing was overruled."""
    claimed = overruled(run)
    return "" if claimed is None else f" (it said {claimed})"


def turns(history: Sequence[Entry]) -> tuple[Turn, ...]:
    """The history without its hashes: what people and other programs are told."""
    return tuple(
        Turn(
            number=entry.number,
            role=entry.role,
            verdict=entry.verdict,
            claimed=entry.claimed,
            problems=tuple(problem.text for problem in entry.problems),
            facts=entry.facts,
            conversation=entry.conversation,
        )
        for entry in history
    )


def diagnose(end: Stop, history: Sequence[Entry]) -> Diagnosis:
    """Raises `ValueError` for an empty history, of which there is nothing to say."""
    if not history:
        raise ValueError("a port that never began has no diagnosis")
    last = history[-1]
    owner = owner_of(last)
    seen = any(_OWNERS.get(problem.owner) == owner for problem in last.problems)
    return Diagnosis(why=end.why, owner=owner, seen=seen, runs=turns(history))


def owner_of(entry: Entry) -> Owner:
    """Whose a run is that ended a port; `unknown` where neither role nor program said so, never a guess."""
    if entry.role is Role.PREFLIGHT:
        return "environment"
    if entry.verdict is Verdict.BLOCKED:
        return "compiler" if entry.role is Role.KERNEL_WRITER else "environment"
    return _OWNERS.get(entry.verdict, "unknown")


def as_markdown(found: Diagnosis) -> str:
    last = found.last
    lines = ["# Why this port was given up", "", f"{found.why[0].upper()}{found.why[1:]}.", ""]
    lines += [f"The last run was {last.role}'s: {last.verdict}."]
    if (claimed := overruled(last)) is not None:
        lines.append(f"It said {claimed}; the validators found otherwise.")
    if last.conversation is not None:
        lines.append(f"Its conversation did not end by itself: {last.conversation}.")
    lines += [f"Whose it is: {found.owner}{'' if found.seen else ', which no program saw'}."]
    lines += ["", "## What was found", ""]
    lines += [f"- {text}" for text in last.problems] or ["- nothing beyond the report"]
    lines += ["", "## The runs", ""]
    lines += [f"{turn.number}. {turn.role}: {_told(turn)}" for turn in found.runs]
    return "\n".join(lines) + "\n"


def _told(turn: Turn) -> str:
    return (
        f"{turn.verdict}{said_otherwise(turn)}{': ' + turn.problems[0].splitlines()[0][:200] if turn.problems else ''}"
    )
