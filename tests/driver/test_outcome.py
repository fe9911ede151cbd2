"""Three classes of acceptance, never two, and what follows from each."""

from __future__ import annotations

import pytest

from tileport_driver.outcome import accept, decide
from tileport_driver.records import (
    Accepted,
    AgentRun,
    Delivery,
    Failed,
    Inconclusive,
    NotPorted,
    NotRun,
    Passed,
    Ported,
    Rejected,
    Unproved,
    Usage,
)

PASSED = Passed(gate="build", evidence=("it builds",))
FAILED = Failed(gate="tile-ir", reasons=("they differ",))
NOT_RUN = NotRun(gate="performance", why="no GPU", how="on a GPU")
DELIVERY = Delivery(branch="port/x", commit="0" * 40)


def run(status: str = "finished") -> AgentRun:
    return AgentRun(status=status, exit_code=0, seconds=1, turns=1, usage=Usage(), summary="done")  # type: ignore[arg-type]


def test_one_failure_rejects_whatever_else_passed_or_did_not_run() -> None:
    assert isinstance(accept((PASSED, FAILED, NOT_RUN)), Rejected)


def test_a_gate_that_did_not_run_leaves_it_open() -> None:
    assert isinstance(accept((PASSED, NOT_RUN)), Inconclusive)


def test_all_passed_accepts() -> None:
    assert isinstance(accept((PASSED, PASSED)), Accepted)


def test_an_accepted_port_is_ported() -> None:
    assert decide(run(), Accepted(gates=(PASSED,)), DELIVERY) == Ported(delivery=DELIVERY)


def test_an_open_acceptance_is_unproved_and_names_what_is_missing() -> None:
    assert decide(run(), Inconclusive(gates=(PASSED, NOT_RUN)), DELIVERY) == Unproved(
        delivery=DELIVERY, missing=(NOT_RUN,)
    )


def test_a_rejection_gives_its_reasons() -> None:
    assert decide(run(), Rejected(gates=(FAILED,)), None) == NotPorted(reasons=("they differ",))


@pytest.mark.parametrize("status", ["failed", "timed out"])
def test_an_agent_that_did_not_finish_ported_nothing(status: str) -> None:
    outcome = decide(run(status), None, None)
    assert isinstance(outcome, NotPorted)
    assert status in outcome.reasons[0]
