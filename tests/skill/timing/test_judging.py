"""The rule, and everything that makes a row fail or leaves it undecided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.skill.timing.raw_samples import OPERATOR, ROW, STATE, Made
from tests.skill.timing.synthetic import World

from tileport_skill.errors import RequestError
from tileport_skill.timing.judging import judge, rows_needed, summary
from tileport_skill.timing.raw import write_json
from tileport_skill.timing.records import Failed, Inconclusive, Passed, RowResult, Verdict


def row_of(made: Made, folder: Path) -> RowResult:
    return judge(made.write(folder), OPERATOR).rows[0]


def reasons(verdict: Verdict) -> str:
    return "" if isinstance(verdict, Passed) else "; ".join(verdict.reasons)


def test_a_port_as_fast_as_its_reference_passes(tmp_path: Path) -> None:
    row = row_of(Made(), tmp_path)
    assert row.verdict == Passed()
    assert row.cold is not None
    assert row.cold.low < 1 < row.cold.high
    assert row.cold.width < 0.02


def test_a_port_that_is_slower_as_a_whole_fails(tmp_path: Path) -> None:
    row = row_of(Made(ratio=0.9), tmp_path)
    assert isinstance(row.verdict, Failed)
    assert "too slow" in reasons(row.verdict)


def test_a_sharp_interval_that_includes_the_rule_fails(tmp_path: Path) -> None:
    row = row_of(Made(ratio=0.95, processes=16), tmp_path)
    assert isinstance(row.verdict, Failed)
    assert "not shown to be fast enough" in reasons(row.verdict)


def test_an_interval_that_includes_the_rule_decides_nothing_while_budget_is_left(tmp_path: Path) -> None:
    row = row_of(Made(ratio=0.95), tmp_path)
    assert isinstance(row.verdict, Inconclusive)
    assert "8 of at most 16 processes measured it" in reasons(row.verdict)


def test_a_blunt_interval_that_includes_the_rule_decides_nothing(tmp_path: Path) -> None:
    row = row_of(Made(ratio=0.96, processes=16, world=World(between=0.04)), tmp_path)
    assert isinstance(row.verdict, Inconclusive)
    assert "too wide" in reasons(row.verdict) or "null failed" in reasons(row.verdict)


def test_a_null_that_is_off_by_more_than_two_percent_decides_nothing(tmp_path: Path) -> None:
    row = row_of(Made(ratio=1.2, null_ratio=1.03), tmp_path)
    assert isinstance(row.verdict, Inconclusive)
    assert "the null failed" in reasons(row.verdict)


def test_a_null_that_misses_1_by_a_hair_does_no_harm(tmp_path: Path) -> None:
    """One in twenty does, by chance."""
    row = row_of(Made(null_ratio=1.008, world=World(between=0.001)), tmp_path)
    assert row.null is not None
    assert row.null.low > 1
    assert row.verdict == Passed()


def test_clocks_that_step_in_many_blocks_decide_nothing(tmp_path: Path) -> None:
    row = row_of(Made(world=World(slow_clock=0.3)), tmp_path)
    assert row.set_aside > 0
    assert isinstance(row.verdict, Inconclusive)
    assert "clocks moved in" in reasons(row.verdict)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"document": {"others_before": 1}}, "1 other processes used the GPU"),
        ({"document": {"others_before": -1}}, "NVML does not answer"),
        ({"record": {"after": STATE | {"processes": 2}}}, "1 other processes used the GPU"),
        ({"record": {"before": STATE | {"sm_mhz": None}, "after": STATE | {"sm_mhz": None}}}, "NVML does not answer"),
        (
            {"document": {"calibration": [{"megabytes": n, "cupti_ns": n**2, "event_ns": n} for n in (64, 256, 1024)]}},
            "do not differ by a constant factor",
        ),
        (
            {"record": {"kernels": {"cutile": ["cublas"], "cutile-rs": ["silu_entry"]}}},
            "the reference launched none of its own kernels",
        ),
        ({"processes": 4}, "4 fresh processes measured it; 5 are the fewest"),
        ({"errors": ({"side": "cutile", "what": "ValueError: no"},)}, "the reference raised ValueError: no"),
    ],
)
def test_what_spoils_a_measurement_decides_nothing(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    row = row_of(Made(**change), tmp_path)
    assert isinstance(row.verdict, Inconclusive)
    assert said in reasons(row.verdict)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"errors": ({"side": "cutile-rs", "what": "NotImplementedError: f16"},)}, "raised NotImplementedError: f16"),
        ({"record": {"outputs": [{"problem": "9 of 10 elements differ", "largest": 1.0}]}}, "9 of 10 elements differ"),
        ({"record": {"inputs_changed": True}}, "changed its inputs"),
        (
            {"record": {"kernels": {"cutile": ["_silu_kernel_Kt1"], "cutile-rs": ["_silu_kernel_Kt1"]}}},
            "launched kernels of the reference: _silu_kernel_Kt1",
        ),
        ({"record": {"kernels": {"cutile": ["_silu_kernel"], "cutile-rs": ["vectorized"]}}}, "no kernel of its own"),
        (
            {"record": {"kernels": {"cutile": ["_silu_kernel"], "cutile-rs": ["_silu_kernel", "silu_entry"]}}},
            "launched kernels of the reference",
        ),
    ],
)
def test_what_the_port_is_to_blame_for_fails_it_however_fast(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    row = row_of(Made(ratio=1.5, **change), tmp_path)
    assert isinstance(row.verdict, Failed)
    assert said in reasons(row.verdict)


def test_a_port_that_runs_out_of_memory_is_not_to_blame(tmp_path: Path) -> None:
    made = Made(processes=0, errors=({"side": "cutile-rs", "what": "OutOfMemoryError: CUDA out of memory"},) * 2)
    assert isinstance(row_of(made, tmp_path).verdict, Inconclusive)


def test_a_single_broken_process_among_many_good_ones_is_passed_over(tmp_path: Path) -> None:
    made = Made(errors=({"side": None, "what": "TraceError: CUPTI recorded 3 markers"},))
    assert row_of(made, tmp_path).verdict == Passed()


def test_a_port_that_cannot_be_tuned_fails_with_why(tmp_path: Path) -> None:
    raw = Made(processes=0).write(tmp_path)
    write_json(raw.tuned(OPERATOR, ROW, "cutile-rs"), {"error": "TuningError: no configuration works"})
    verdict = judge(raw, OPERATOR).rows[0].verdict
    assert isinstance(verdict, Failed)
    assert "no configuration works" in reasons(verdict)


def test_times_are_given_in_units_of_cuda_events(tmp_path: Path) -> None:
    timing = judge(Made(ratio=2.0).write(tmp_path), OPERATOR)
    assert timing.cupti_factor == pytest.approx(2.1)
    reference, port = timing.rows[0].reference.cold_us, timing.rows[0].port.cold_us
    assert reference == pytest.approx(200 / 2.1, rel=0.02)
    assert port == pytest.approx(100 / 2.1, rel=0.02)


def test_one_failed_row_fails_the_operator_and_an_undecided_one_leaves_it_open() -> None:
    failed, unsure = Failed(reasons=("slow",)), Inconclusive(reasons=("noise",))
    assert summary([Passed(), Passed()]) == Passed()
    assert summary([Passed(), unsure]) == Inconclusive(reasons=("1 of 2 rows could not be decided",))
    assert summary([unsure, failed]) == Failed(reasons=("1 of 2 rows failed",))
    assert isinstance(summary([]), Inconclusive)


def test_a_trial_of_a_few_rows_passes_nothing_but_can_fail() -> None:
    assert summary([Passed()], left_out=3) == Inconclusive(reasons=("a trial: 3 rows were left out",))
    assert isinstance(summary([Failed(reasons=("slow",))], left_out=3), Failed)


def test_rows_are_measured_until_decided_or_the_budget_is_spent(tmp_path: Path) -> None:
    assert rows_needed(Made(processes=7).write(tmp_path / "few"), OPERATOR) == (ROW,)
    assert rows_needed(Made(processes=8).write(tmp_path / "decided"), OPERATOR) == ()
    assert rows_needed(Made(processes=8, ratio=0.95).write(tmp_path / "straddles"), OPERATOR) == (ROW,)
    assert rows_needed(Made(processes=16, ratio=0.95).write(tmp_path / "spent"), OPERATOR) == ()


def test_a_row_that_broke_twice_is_not_tried_again(tmp_path: Path) -> None:
    broken = ({"side": "cutile-rs", "what": "NotImplementedError: f16"},) * 2
    assert rows_needed(Made(processes=0, errors=broken).write(tmp_path), OPERATOR) == ()


def test_a_folder_without_the_operator_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no samples of relu, only of silu_and_mul"):
        judge(Made(processes=0).write(tmp_path), "relu")


def test_a_triton_baseline_is_marked_unproven(tmp_path: Path) -> None:
    made = Made(processes=0, plan={"baseline": "triton"})
    assert judge(made.write(tmp_path), OPERATOR).unproven is not None
