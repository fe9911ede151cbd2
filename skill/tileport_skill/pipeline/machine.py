"""READ FIRST: which role runs next: one table, the caps, one pure function of what has happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tileport_skill.pipeline.verdicts import Role, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run that ended, and how: by its validators' word where they contradict the role's."""

    role: Role
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Stop:
    """The port is given up; `diagnosis.md` says why."""

    why: str


@dataclass(frozen=True, slots=True)
class Complete:
    """The port stands; how fast it is decides between the three."""

    outcome: Literal["accepted", "not accepted", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Run:
    """This role is next; `repair` asks the last one for a report that can be read."""

    role: Role
    repair: bool = False


@dataclass(frozen=True, slots=True)
class Go:
    """A route to a role while it has runs left, else to an end."""

    role: Role
    otherwise: Stop | Complete | None = None
    """None: the cap itself is the reason to stop."""


Step = Run | Stop | Complete
R, V = Role, Verdict

CAPS = {
    R.PREFLIGHT: 1,
    R.ANALYZER: 1,
    R.KERNEL_WRITER: 2,
    R.HOST_BUILDER: 2,
    R.IR_ANALYST: 1,
    R.PERFORMANCE_VERIFIER: 2,
    R.PERFORMANCE_INVESTIGATOR: 1,
}
_SLOW = Complete("not accepted")

ROUTES: dict[tuple[Role, Verdict], Go | Stop | Complete] = {
    (R.PREFLIGHT, V.PASS): Go(R.ANALYZER),
    (R.PREFLIGHT, V.FAIL): Stop("this machine lacks what a port needs"),
    (R.ANALYZER, V.PASS): Go(R.KERNEL_WRITER),
    (R.ANALYZER, V.FAIL): Stop("the reference could not be analysed"),
    (R.ANALYZER, V.BLOCKED): Stop("the analyzer was blocked"),
    (R.KERNEL_WRITER, V.EQUAL): Go(R.HOST_BUILDER),
    (R.KERNEL_WRITER, V.NOT_EQUAL): Go(R.IR_ANALYST, Stop("the kernel still differs from the reference")),
    (R.KERNEL_WRITER, V.BLOCKED): Stop("the kernel writer was blocked"),
    (R.HOST_BUILDER, V.PASS): Go(R.PERFORMANCE_VERIFIER),
    (R.HOST_BUILDER, V.FAIL_HOST): Go(R.HOST_BUILDER),
    (R.HOST_BUILDER, V.FAIL_KERNEL): Go(R.IR_ANALYST),
    (R.HOST_BUILDER, V.FAIL_COMPILER): Stop("the compiler is at fault"),
    (R.HOST_BUILDER, V.FAIL_ENVIRONMENT): Stop("the environment is at fault"),
    (R.HOST_BUILDER, V.FAIL): Stop("a failure without an owner"),
    (R.IR_ANALYST, V.FAIL_KERNEL): Go(R.KERNEL_WRITER),
    (R.IR_ANALYST, V.FAIL_HOST): Go(R.HOST_BUILDER),
    (R.IR_ANALYST, V.FAIL_COMPILER): Stop("the compiler is at fault"),
    (R.IR_ANALYST, V.NOTHING_FOUND): Stop("a failure without an owner"),
    (R.PERFORMANCE_VERIFIER, V.PASS): Complete("accepted"),
    (R.PERFORMANCE_VERIFIER, V.BELOW_BOUND): Go(R.PERFORMANCE_INVESTIGATOR, _SLOW),
    (R.PERFORMANCE_VERIFIER, V.INCONCLUSIVE): Complete("inconclusive"),
    (R.PERFORMANCE_VERIFIER, V.NOT_RUN): Complete("inconclusive"),
    (R.PERFORMANCE_INVESTIGATOR, V.FAIL_KERNEL): Go(R.KERNEL_WRITER, _SLOW),
    (R.PERFORMANCE_INVESTIGATOR, V.FAIL_HOST): Go(R.HOST_BUILDER, _SLOW),
    (R.PERFORMANCE_INVESTIGATOR, V.NOTHING_FOUND): _SLOW,
}


def next_step(history: Sequence[Ran]) -> Step:
    """What follows `history`. A report that cannot be read is asked for once more, and is no run of its own."""
    if not history:
        return Run(R.PREFLIGHT)
    last = history[-1]
    if last.verdict is V.MALFORMED:
        if last.role is R.PREFLIGHT or list(history[-2:]) == [last, last]:
            return Stop(f"{last.role} left no report that can be read")
        return Run(last.role, repair=True)
    route = ROUTES[last.role, last.verdict]
    if not isinstance(route, Go):
        return route
    runs = Counter(ran.role for ran in history if ran.verdict is not V.MALFORMED)
    if runs[route.role] < CAPS[route.role]:
        return Run(route.role)
    return route.otherwise or Stop(f"{route.role} has had its {CAPS[route.role]} runs")
