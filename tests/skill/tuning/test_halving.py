"""The search's rounds, on measurements that were made up."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest

from tileport_skill.tuning.halving import Lost, Measured, Search, Stage, asks, begin, told


def run(speeds: Mapping[int, float | str], noise: float = 0.005, seed: int = 1) -> tuple[Search, int]:
    """The search over contenders of these true ratios, or reasons; and how many blocks it asked for."""
    chance, search, blocks = random.Random(seed), begin(len(speeds)), 0
    while questions := asks(search):
        answers: dict[int, Measured | Lost] = {}
        for ask in questions:
            speed = speeds[ask.contender]
            blocks += ask.blocks
            if isinstance(speed, str):
                answers[ask.contender] = Lost(reason=speed)
            else:
                answers[ask.contender] = tuple(math.log(speed) + chance.gauss(0, noise) for _ in range(ask.blocks))
        search = told(search, answers)
    return search, blocks


@pytest.mark.parametrize("seed", range(20))
def test_the_fastest_wins_and_most_of_the_work_goes_to_the_best(seed: int) -> None:
    speeds = {number: 0.8 + number / 100 for number in range(60)}
    search, blocks = run(speeds, seed=seed)
    assert search.winner == 59 or speeds[search.winner or 0] > 1.37
    assert blocks < 60 * 2 + 15 * 4 + 8 * 8 + 60
    assert search.stage is Stage.DONE


def test_nothing_wins_where_the_reference_is_as_fast() -> None:
    assert run({0: 1.0, 1: 0.97, 2: 1.004})[0].winner is None


def test_what_is_wrong_or_dies_is_out_with_its_reason() -> None:
    search, _ = run({0: "its output is wrong", 1: 1.2, 2: "the process that ran it ended"})
    assert search.winner == 1
    assert dict(search.lost) == {0: "its output is wrong", 2: "the process that ran it ended"}


def test_a_search_whose_contenders_all_fail_ends_without_a_winner() -> None:
    assert run({0: "no", 1: "no"})[0].winner is None
    assert begin(0).winner is None
    assert asks(begin(0)) == ()


def test_a_contender_whose_blocks_were_all_disturbed_is_out() -> None:
    search = told(begin(2), {0: (), 1: (0.1, 0.1)})
    assert dict(search.lost) == {0: "every block of it was disturbed"}
    assert search.alive == (1,)


def test_what_is_half_as_fast_is_out_after_screening_whatever_the_share() -> None:
    assert told(begin(3), {0: (0.1,), 1: (-0.9,), 2: (0.0,)}).alive == (0, 2)


def test_a_finished_search_takes_no_more_answers() -> None:
    with pytest.raises(ValueError, match="is done"):
        told(begin(0), {})
