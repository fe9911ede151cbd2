"""A whole campaign on a stand-in device: tuned once, sampled in fresh processes, judged."""

from __future__ import annotations

import dataclasses

import pytest
from tests.skill.timing.conftest import Rehearse

from tileport_skill.timing.judging import judge
from tileport_skill.timing.raw import read_json
from tileport_skill.timing.records import Failed, Inconclusive, RowResult, Verdict


def the_row(rehearse: Rehearse, processes: int, fault: str) -> RowResult:
    return judge(rehearse((16,), processes, fault=fault), "silu_and_mul").rows[0]


def reasons(verdict: Verdict) -> str:
    return "; ".join(getattr(verdict, "reasons", ()))


def test_a_campaign_tunes_both_sides_once_and_measures_in_a_fresh_process(rehearse: Rehearse) -> None:
    raw = rehearse((16,), 1)
    row = judge(raw, "silu_and_mul").rows[0]
    assert row.reference.tuned.chosen == ("namespace(occupancy=2)",)
    assert row.port.tuned.chosen == ("namespace(occupancy=2)",)
    assert dict(row.reference.tuned.dropped) == {"namespace(occupancy=1)": "TimeoutError: compiling took more than 5 s"}
    assert dict(row.port.tuned.dropped) == {
        "namespace(occupancy=4)": "RuntimeError: cutile_silu failed (rc=-3): kernel launch failed"
    }
    assert row.processes == 1
    assert row.port.cold_us == pytest.approx(row.reference.cold_us, rel=0.02)
    assert isinstance(row.verdict, Inconclusive)  # one process is too few


@pytest.mark.soak
def test_tuning_goes_on_after_a_configuration_that_ends_the_process(rehearse: Rehearse) -> None:
    """A panic in Rust does."""
    row = the_row(rehearse, 2, "aborts")
    assert row.port.tuned.chosen == ("namespace(occupancy=2)",)
    assert ("namespace(occupancy=8)", "the process ended while it was compiled or run") in row.port.tuned.dropped
    assert row.processes == 2


@pytest.mark.soak
def test_every_process_has_inputs_of_its_own(rehearse: Rehearse) -> None:
    raw = rehearse((16,), 2)
    assert len({read_json(raw.samples("silu_and_mul", process))["rows"][0]["seed"] for process in range(2)}) == 2


@pytest.mark.soak
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raises", "could not be tuned"),
        ("wrong", "elements of output 0 differ"),
        ("reference", "launched kernels of the reference: _silu_kernel_Kt1"),
        ("input", "a call changed its inputs"),
        ("patches", "replaced torch.cuda.Event.elapsed_time"),
    ],
)
def test_a_port_at_fault_fails(rehearse: Rehearse, fault: str, said: str) -> None:
    row = the_row(rehearse, 2, fault)
    assert isinstance(row.verdict, Failed)
    assert said in reasons(row.verdict)


@pytest.mark.soak
def test_a_port_that_launches_other_kernels_after_a_while_is_not_timed(rehearse: Rehearse) -> None:
    row = the_row(rehearse, 2, "later")
    assert row.cold is None
    assert "another_kernel" in reasons(row.verdict)


@pytest.mark.soak
def test_rows_that_share_a_winner_in_the_operators_own_cache_are_tuned_apart(rehearse: Rehearse) -> None:
    """The stand-in's reference caches by width alone; rows come in random order, so that each must have its record."""
    timing = judge(rehearse((16, 64), 6), "silu_and_mul")
    assert [row.processes for row in timing.rows] == [6, 6]
    assert all(dataclasses.astuple(row.reference.tuned)[0] == 2 for row in timing.rows)


@pytest.mark.soak
@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "passed"), (0.9, "failed")])
def test_the_verdict_follows_the_ratio(rehearse: Rehearse, ratio: float, verdict: str) -> None:
    timing = judge(rehearse((16,), 6, ratio=ratio), "silu_and_mul")
    row = timing.rows[0]
    assert row.cold is not None
    assert row.cold.ratio == pytest.approx(ratio, abs=0.01)
    # NVML is not there on the stand-in: the rule is never reached, but what it would say is known.
    assert ("passed" if row.cold.low >= 0.95 else "failed") == verdict
    assert "NVML does not answer" in reasons(row.verdict)
