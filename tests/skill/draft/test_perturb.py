"""Which specialisations are made up so that every branch of a kernel is read."""

from __future__ import annotations

import ast

from tests.skill.draft.conftest import array, constant, specialisation

from tileport_skill.capture.records import Constant, Specialisation
from tileport_skill.draft.oracle.perturb import MOST, perturbed

TREE = ast.parse("def k(x, FLAG, MODE):\n    if MODE == 3 and FLAG:\n        pass\n")


def values(found: list[Specialisation]) -> set[tuple[str, ...]]:
    return {tuple(p.text for p in one.parameters if isinstance(p, Constant)) for one in found}


def test_truth_values_are_turned_and_numbers_set_to_what_the_source_compares_them_with() -> None:
    one = specialisation("k", array("x", "float32", 1), constant("FLAG", False), constant("MODE", 0))
    assert {("True", "0"), ("False", "3"), ("True", "3")} <= values(perturbed([one], [TREE]))


def test_a_number_the_source_compares_with_nothing_stays() -> None:
    one = specialisation("k", array("x", "float32", 1), constant("TILE", 64))
    assert perturbed([one], [TREE]) == []


def test_there_are_never_more_than_the_limit() -> None:
    flags = [constant(f"FLAG_{index}", False) for index in range(12)]
    assert len(perturbed([specialisation("k", *flags)], [TREE])) == MOST
