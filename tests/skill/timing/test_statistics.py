"""The interval and the rule on samples of known truth.

`python -m tests.skill.timing.synthetic` prints, of 1,000 measurements each, what is quoted here.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.skill.timing.synthetic import WORLDS, World, blocks_of, measured, rates

from tileport_skill.timing.samples import is_undisturbed
from tileport_skill.timing.statistics import (
    block_log_ratio,
    geometric_mean,
    interval,
    minimum_detectable,
    process_log_ratio,
    t_975,
)

RUNS = 80


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_an_equal_port_is_accepted_one_of_94_percent_is_not_and_the_interval_keeps_its_word(world: World) -> None:
    fast, slow = rates(world, 1.0, RUNS, 1), rates(world, 0.94, RUNS, 2)
    assert fast.accepted == 1.0
    assert slow.accepted <= 0.03
    assert fast.covered >= 0.88


def test_six_processes_are_enough_for_the_interval_to_keep_its_word() -> None:
    random = np.random.default_rng(4)
    found = [interval(list(random.normal(0, 0.005, 6))) for _ in range(800)]
    covered = sum(one.low <= 1 <= one.high for one in found) / len(found)
    assert 0.93 <= covered <= 0.98


def test_a_drift_that_is_linear_over_a_block_leaves_no_trace_in_it() -> None:
    falling = [100 * math.exp(0.05 * call) for call in range(4)]
    assert block_log_ratio("ABBA", falling) == pytest.approx(0.0, abs=1e-12)
    assert block_log_ratio("AABB", falling) != pytest.approx(0.0, abs=1e-3)


def test_a_block_says_reference_over_port_whichever_comes_first() -> None:
    assert block_log_ratio("ABBA", [200, 100, 100, 200]) == pytest.approx(math.log(2))
    assert block_log_ratio("BAAB", [100, 200, 200, 100]) == pytest.approx(math.log(2))


def test_disturbed_blocks_in_a_minority_do_not_move_a_process() -> None:
    assert process_log_ratio([0.0] * 13 + [0.4] * 11) == 0.0


def test_blocks_in_which_the_clock_steps_are_set_aside_and_others_are_not() -> None:
    random = np.random.default_rng(5)
    stepping = blocks_of(World(slow_clock=0.3), 1.0, random)
    steady = blocks_of(World(), 1.0, random)
    assert not all(map(is_undisturbed, stepping))
    assert all(map(is_undisturbed, steady))


def test_heat_sets_a_block_aside_and_the_power_cap_does_not() -> None:
    block = blocks_of(World(), 1.0, np.random.default_rng(6))[0]
    assert is_undisturbed({**block, "throttle": 0x4})
    assert not is_undisturbed({**block, "throttle": 0x40})
    assert is_undisturbed({**block, "throttle": None})


def test_the_same_samples_always_give_the_same_interval() -> None:
    values = measured(World(), 1.0, 8, np.random.default_rng(8))
    assert interval(values) == interval(list(values))


def test_one_process_says_nothing_about_how_sure_it_is() -> None:
    with pytest.raises(ValueError, match="one process says nothing"):
        interval([0.1])
    assert minimum_detectable([0.1]) is None


def test_what_can_be_detected_is_detected_four_times_in_five() -> None:
    random = np.random.default_rng(9)
    error = minimum_detectable([-0.005, 0.005] * 4)
    assert error is not None
    deviation = float(np.std([-0.005, 0.005] * 4, ddof=1))
    seen = 0
    for _ in range(1500):
        values = random.normal(math.log1p(error), deviation, 8)
        half = t_975(7) * np.std(values, ddof=1) / math.sqrt(8)
        seen += bool(values.mean() - half > 0)
    assert 0.72 <= seen / 1500 <= 0.88


def test_students_t_goes_over_smoothly_from_its_table() -> None:
    assert t_975(1) == 12.706
    assert t_975(30) > t_975(31) > t_975(200) > 1.9599


def test_the_geometric_mean_of_a_half_and_two_is_one() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([]) is None
