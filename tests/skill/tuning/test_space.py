"""What is tried besides the reference's own list."""

from __future__ import annotations

import pytest

from tileport_skill.tuning.candidates import Candidate, fields_of, read_spelling, spelled
from tileport_skill.tuning.space import widened

REFERENCE = [
    {"TILE_M": 128, "TILE_N": 64, "num_ctas": 1, "occupancy": 1, "GROUP": 8},
    {"TILE_M": 64, "TILE_N": 64, "num_ctas": 1, "occupancy": 2, "GROUP": 8},
]
HINTED = ("num_ctas", "occupancy")


def test_tiles_and_hints_are_made_up_around_the_references_own() -> None:
    found = [fields for fields, _ in widened(REFERENCE, HINTED, "sm_90", most=2000)]
    assert {fields["TILE_M"] for fields in found} == {32, 64, 128, 256}
    assert {fields["num_ctas"] for fields in found} == {1, 2, 4}
    assert {fields["GROUP"] for fields in found} == {8}
    assert not any(fields in REFERENCE for fields in found)


def test_the_nearest_come_first_and_most_bounds_them() -> None:
    found = widened(REFERENCE, HINTED, "sm_90", most=5)
    assert len(found) == 5
    for fields, _ in found:
        assert any(sum(fields[name] != base[name] for name in fields) == 1 for base in REFERENCE)


def test_hints_that_no_configuration_decides_are_set_over_the_hosts() -> None:
    found = widened([{"TILE": 64, "num_ctas": 1, "occupancy": 2}], (), "sm_90", most=2000)
    assert {tuple(hints.items()) for _, hints in found} >= {(("num_ctas", 2),), (("occupancy", 1), ("num_ctas", 4))}
    assert {(fields["num_ctas"], fields["occupancy"]) for fields, _ in found} == {(1, 2)}, "fields of no effect stay"


def test_a_kernel_that_is_not_tuned_gets_hints_alone_and_none_that_it_has() -> None:
    found = widened((), (), "sm_90", launched={"occupancy": 2, "num_ctas": None})
    hints = [hints for fields, hints in found if not fields]
    assert len(hints) == len(found) == 14
    assert {"occupancy": 2} not in hints


@pytest.mark.parametrize(("arch", "ctas"), [("sm_90", {1, 2, 4}), ("sm_120", {1})])
def test_an_architecture_without_clusters_gets_none(arch: str, ctas: set[int]) -> None:
    assert {fields["num_ctas"] for fields, _ in widened(REFERENCE, HINTED, arch, most=2000)} == ctas


def test_a_huge_space_is_cut_before_it_is_walked() -> None:
    huge = [{f"TILE_{letter}": 64 for letter in "ABCDEFGH"}]
    assert len(widened(huge, HINTED, "sm_90")) == 64


def test_a_spelling_is_read_back_as_what_was_spelled() -> None:
    class Namespace:
        def __repr__(self) -> str:
            return "namespace(TILE=64, name='x', fast=True)"

    assert fields_of(Namespace()) == {"TILE": 64, "name": "x", "fast": True}
    assert read_spelling(spelled(Namespace(), {"num_ctas": 2})) == Candidate(
        fields=(("TILE", 64), ("name", "x"), ("fast", True)), hints=(("num_ctas", 2),)
    )
    assert read_spelling(spelled(None, {"occupancy": 1})) == Candidate(hints=(("occupancy", 1),))
    assert fields_of(object()) == {}
