"""CUPTI against CUDA events: a constant is fine, whatever it is; anything else is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.skill.timing.conftest import RECORDED

from tileport_skill.timing.clocks import Point, factor_of
from tileport_skill.timing.raw import RawFolder
from tileport_skill.timing.samples import calibrations, documents

LENGTHS = {64: 690_000, 256: 2_570_000, 1024: 10_100_000}


def passes(cupti: Callable[[int], float], events: Callable[[int], float] = lambda ns: ns + 2_700) -> list[list[Point]]:
    """Six passes over copies of known length."""
    points = [
        Point(megabytes=size, cupti_ns=round(cupti(ns)), event_ns=round(events(ns))) for size, ns in LENGTHS.items()
    ]
    return [points] * 6


def problem(found: list[list[Point]]) -> str | None:
    factor = factor_of(found)
    assert factor is not None
    return factor.problem


@pytest.mark.parametrize("constant", [0.5, 1.0, 2.1])
def test_a_constant_factor_is_found_and_accepted(constant: float) -> None:
    factor = factor_of(passes(lambda ns: constant * ns))
    assert factor is not None
    assert factor.value == pytest.approx(constant, rel=1e-4)
    assert factor.problem is None


def test_what_an_h200_recorded_is_accepted_with_its_outliers() -> None:
    """Events around the shortest copies took up to 12 % longer in three of thirty passes: the host was late."""
    for folder, operators in (("ours", ("silu_and_mul",)), ("tilegym-1.5.1", ("swiglu", "matmul"))):
        for operator in operators:
            found = calibrations(documents(RawFolder(RECORDED / folder), operator))
            factor = factor_of(found)
            assert factor is not None
            assert factor.value == pytest.approx(1.0, abs=2e-3)
            assert factor.problem is None


@pytest.mark.parametrize(
    ("cupti", "said"),
    [
        (lambda ns: ns**1.02, "events add"),
        (lambda ns: ns * (2.1 if ns > 1_000_000 else 1.0), "copies of 64 MiB are"),
        (lambda ns: ns + 100_000, "events add -"),
        (lambda ns: ns * 0.98 + 60_000, "events add -"),
        (lambda ns: 5_000, "in different processes"),
    ],
    ids=["a power", "a step", "an offset of CUPTI's", "both", "a clock that stands still"],
)
def test_a_factor_that_is_no_constant_is_refused(cupti: Callable[[int], float], said: str) -> None:
    assert said in str(problem(passes(cupti)))


def test_a_factor_that_is_another_in_one_process_is_refused() -> None:
    assert "in different processes" in str(problem([*passes(lambda ns: ns), *passes(lambda ns: 1.05 * ns)[:1]]))


def test_events_that_add_much_to_every_copy_are_refused() -> None:
    assert "events add 50.0 µs" in str(problem(passes(lambda ns: ns, lambda ns: ns + 50_000)))


def test_without_two_lengths_there_is_no_factor() -> None:
    assert factor_of([]) is None
    assert factor_of([[Point(megabytes=64, cupti_ns=1, event_ns=1)]]) is None
