"""Routing, by walking every history there can be: each ends, within the caps, and leaves nothing unrouted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tileport_skill.pipeline.machine import CAPS, ROUTES, Complete, Ran, Run, Step, Stop, next_step
from tileport_skill.pipeline.picture import picture
from tileport_skill.pipeline.verdicts import Role, Verdict, words

R, V = Role, Verdict


def every_history(history: tuple[Ran, ...] = ()) -> Iterator[tuple[tuple[Ran, ...], Step]]:
    """Each history that ends, with its end: every verdict that a role may give is given in every place."""
    step = next_step(history)
    if not isinstance(step, Run):
        yield history, step
        return
    assert len(history) < 30, f"does not end: {history}"
    for verdict in (*words(step.role), V.MALFORMED):
        yield from every_history((*history, Ran(role=step.role, verdict=verdict)))


ALL = list(every_history())


def test_every_history_ends_within_the_caps() -> None:
    assert len(ALL) > 1000
    for history, step in ALL:
        assert isinstance(step, Stop | Complete)
        runs = Counter(ran.role for ran in history if ran.verdict is not V.MALFORMED)
        assert all(runs[role] <= cap for role, cap in CAPS.items())


def test_every_verdict_that_a_role_may_give_is_routed_and_no_other() -> None:
    assert set(ROUTES) == {(role, verdict) for role in Role for verdict in words(role)}


def test_every_route_is_reached() -> None:
    assert {(ran.role, ran.verdict) for history, _ in ALL for ran in history if ran.verdict is not V.MALFORMED} == set(
        ROUTES
    )


def test_a_report_is_repaired_once_in_each_run_and_never_twice() -> None:
    for history, _ in ALL:
        for before, after in pairwise(history):
            if before.verdict is V.MALFORMED:
                assert after.role is before.role
        assert not any(one.verdict is two.verdict is V.MALFORMED for one, two in pairwise(history[:-1]))


def test_nothing_is_accepted_without_a_measurement_that_passed() -> None:
    for history, step in ALL:
        accepted = history[-1] == Ran(role=R.PERFORMANCE_VERIFIER, verdict=V.PASS)
        assert (step == Complete("accepted")) == accepted


def test_nothing_is_measured_before_kernel_and_host_code_are_proved() -> None:
    for history, _ in ALL:
        for place, ran in enumerate(history):
            if ran.role is R.PERFORMANCE_VERIFIER and history[place - 1].verdict is not V.MALFORMED:
                assert history[place - 1] == Ran(role=R.HOST_BUILDER, verdict=V.PASS)


def test_a_failure_without_an_owner_stops() -> None:
    for history, step in ALL:
        if history[-1].verdict in {V.FAIL, V.BLOCKED, V.FAIL_ENVIRONMENT} or (
            history[-1] == Ran(role=R.IR_ANALYST, verdict=V.NOTHING_FOUND)
        ):
            assert isinstance(step, Stop)


@pytest.mark.parametrize(
    ("told", "step"),
    [
        ([], Run(R.PREFLIGHT)),
        ([(R.PREFLIGHT, V.PASS), (R.ANALYZER, V.PASS), (R.KERNEL_WRITER, V.NOT_EQUAL)], Run(R.IR_ANALYST)),
        ([(R.KERNEL_WRITER, V.NOT_EQUAL), (R.IR_ANALYST, V.FAIL_KERNEL)], Run(R.KERNEL_WRITER)),
        (
            [(R.KERNEL_WRITER, V.NOT_EQUAL), (R.IR_ANALYST, V.FAIL_KERNEL), (R.KERNEL_WRITER, V.NOT_EQUAL)],
            Stop("the kernel still differs from the reference"),
        ),
        ([(R.HOST_BUILDER, V.FAIL_HOST)], Run(R.HOST_BUILDER)),
        ([(R.HOST_BUILDER, V.FAIL_HOST)] * 2, Stop("host-builder has had its 2 runs")),
        ([(R.PERFORMANCE_VERIFIER, V.BELOW_BOUND)], Run(R.PERFORMANCE_INVESTIGATOR)),
        (
            [(R.PERFORMANCE_INVESTIGATOR, V.FAIL_HOST), (R.PERFORMANCE_VERIFIER, V.BELOW_BOUND)],
            Complete("not accepted"),
        ),
        ([(R.KERNEL_WRITER, V.MALFORMED)], Run(R.KERNEL_WRITER, repair=True)),
        ([(R.KERNEL_WRITER, V.MALFORMED)] * 2, Stop("kernel-writer left no report that can be read")),
    ],
)
def test_what_follows(told: list[tuple[Role, Verdict]], step: Step) -> None:
    assert next_step([Ran(role=role, verdict=verdict) for role, verdict in told]) == step


def test_the_readmes_picture_is_the_table() -> None:
    readme = Path(__file__).parents[3] / "skill" / "README.md"
    assert f"```mermaid\n{picture()}\n```" in readme.read_text(encoding="utf-8")
