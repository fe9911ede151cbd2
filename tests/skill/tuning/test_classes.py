"""Shapes grouped by what the choice depends on, and the rules that tell them apart."""

from __future__ import annotations

from tileport_skill.tuning.candidates import Candidate, Choice
from tileport_skill.tuning.classes import Point, classes

SMALL = Choice(kernels=(("k", Candidate(hints=(("occupancy", 4),))),))
LARGE = Choice(kernels=(("k", Candidate(hints=(("occupancy", 1),))),))


def point(width: int, scores: dict[Choice, float], dtype: str = "float16") -> Point:
    features = {(0, "dtype"): dtype, (0, 0): 64, (0, 1): width, (1, 1): width}
    return Point(shape=f"{width},{dtype}", features=features, scores=scores)


def test_neighbours_that_one_choice_suits_are_one_class() -> None:
    points = [point(256, {SMALL: 0.2}), point(1024, {SMALL: 0.3}), point(8192, {LARGE: 0.1, SMALL: -0.3})]
    found = {one.choice: one for one in classes(points)}
    assert found[SMALL].shapes == ("1024,float16", "256,float16")
    assert found[LARGE].shapes == ("8192,float16",)
    assert found[SMALL].holds({(0, "dtype"): "float16", (0, 0): 64, (0, 1): 300, (1, 1): 300})
    assert not found[SMALL].holds({(0, "dtype"): "float16", (0, 0): 64, (0, 1): 2048, (1, 1): 2048})
    assert not found[SMALL].holds({(0, "dtype"): "float32", (0, 0): 64, (0, 1): 300, (1, 1): 300})
    assert not found[SMALL].holds({}), "arguments that are missing fit no rule"


def test_a_rule_says_nothing_twice() -> None:
    (only,) = classes([point(256, {SMALL: 0.2}), point(512, {SMALL: 0.2})])
    assert [bound.path for bound in only.rule] == [(0, "dtype"), (0, 0), (0, 1)]


def test_no_class_reaches_over_a_shape_that_the_reference_does_best() -> None:
    found = classes([point(256, {SMALL: 0.2}), point(512, {}), point(1024, {SMALL: 0.2})])
    assert [one.shapes for one in found] == [("256,float16",), ("1024,float16",)]


def test_types_are_never_merged() -> None:
    found = classes([point(256, {SMALL: 0.2}), point(256, {SMALL: 0.2}, "float32")])
    assert len(found) == 2


def test_a_shape_keeps_its_own_winner_where_a_shared_one_is_too_slow() -> None:
    found = classes([point(256, {SMALL: 0.5, LARGE: 0.4}), point(512, {SMALL: 0.1, LARGE: 0.4})])
    assert {one.choice for one in found} == {SMALL, LARGE}


def test_nothing_tuned_makes_no_class() -> None:
    assert classes([]) == ()
    assert classes([point(256, {})]) == ()
