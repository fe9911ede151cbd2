"""A sample of the soak: no mutant that differs is ever called equal, no pair that is equal different."""

from __future__ import annotations

import itertools

import pytest

MUTANTS, SAME = 60, 22


@pytest.fixture(scope="module")
def judged(soak):
    mutants = soak("tileir_mutants")
    both = itertools.chain(mutants.pairs(MUTANTS, 7, False), mutants.same_pairs(SAME, 7, False))
    return [mutants.judge(*pair, 1.0, None) for pair in both]


def test_no_verdict_is_wrong(judged, soak):
    assert soak("tileir_mutants").wrong(judged) == []


def test_mutants_that_differ_are_told_apart(judged):
    different = [j for j in judged if j.label == "different"]
    assert len(different) >= 30
    assert len({j.kind for j in different}) >= 20
    killed = [j for j in different if j.verdict == "different"]
    assert len(killed) >= 0.9 * len(different), [j for j in different if j.verdict != "different"]


def test_pairs_equal_by_construction_are_proved_equal(judged):
    same = [j for j in judged if j.label == "equal"]
    assert len(same) == SAME
    proved = [j for j in same if j.verdict == "equal"]
    assert len(proved) >= 0.95 * len(same), [j for j in same if j.verdict != "equal"]


def test_counting_operations_by_name_would_miss_most_mutants(judged):
    """What the ladder is for: the counts of both sides are the same for most mutants that differ."""
    different = [j for j in judged if j.label == "different"]
    assert sum(j.counts == "same" for j in different) > len(different) / 2


@pytest.mark.soak
def test_the_whole_set_of_mutants_and_pairs(soak):
    """At least 500 mutants of at least 25 kinds and eight kernels, and 200 pairs; `make mutants` prints the report."""
    mutants = soak("tileir_mutants")
    both = itertools.chain(mutants.pairs(700, 1, False), mutants.same_pairs(238, 1, False))
    judged = [mutants.judge(*pair, 3.0, None) for pair in both]
    assert mutants.wrong(judged) == []
    assert len(judged) >= 700
    different = [j for j in judged if j.label == "different"]
    assert len({j.kind for j in different}) >= 25
    assert len({j.kernel for j in different}) >= 8
    assert sum(j.verdict == "different" for j in different) >= 0.99 * len(different)
    same = [j for j in judged if j.label == "equal"]
    assert len(same) >= 200
    assert sum(j.verdict == "equal" for j in same) >= 0.95 * len(same)
