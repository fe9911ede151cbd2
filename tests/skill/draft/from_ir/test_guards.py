"""Which calls an entry is for."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from tests.skill.draft.from_ir.conftest import array, constant, of

from tileport_skill.draft.from_ir.guards import guards


def test_all_combinations_make_a_condition_each_and_others_a_table() -> None:
    product = [of("k", constant("M", m), constant("N", n)) for m in (1, 2) for n in (8, 16)]
    (condition,) = guards([product])
    assert condition == "M in (1, 2) and N in (8, 16)"
    (condition,) = guards([product[:3]])
    assert condition == "(M, N) in ((1, 8), (1, 16), (2, 8))"


def test_element_types_are_asked_about_where_they_tell_entries_apart() -> None:
    halves = [of("k", array("x", dtype), array("y", dtype), constant("N", 8)) for dtype in ("float16", "bfloat16")]
    whole = [of("k", array("x", "float32"), array("y", "float32"), constant("N", 8))]
    assert guards([halves]) == ["N == 8"]
    first, second = guards([halves, whole])
    assert first == "x.dtype in (torch.bfloat16, torch.float16) and N == 8"
    x = SimpleNamespace(dtype=torch.float32)
    assert eval(second, {"torch": torch, "x": x, "N": 8})
    assert not eval(first, {"torch": torch, "x": x, "N": 8})


def test_an_array_that_has_its_own_type_in_one_entry_is_asked_about_in_the_other_too() -> None:
    alike = [of("k", array("x", dtype), array("g", dtype), constant("N", 8)) for dtype in ("float16", "bfloat16")]
    apart = [of("k", array("x", "float16"), array("g", "float32"), constant("N", 8))]
    first, second = guards([alike, apart])
    half, whole = SimpleNamespace(dtype=torch.float16), SimpleNamespace(dtype=torch.float32)
    assert eval(first, {"torch": torch, "x": half, "g": half, "N": 8})
    assert not eval(first, {"torch": torch, "x": half, "g": whole, "N": 8})
    assert eval(second, {"torch": torch, "x": half, "g": whole, "N": 8})
