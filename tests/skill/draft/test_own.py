"""What of a capture an operator's draft is made from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.skill.draft.test_dispatch import LAUNCH, SPECIALISATION

from tileport_skill.capture.records import Capture
from tileport_skill.draft.own import module_of, own_kernels
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

CHECKOUT = open_checkout(Path(__file__).parents[2] / "data" / "draftable")
LEAKY, PRODUCT = (find_operator(read_operators(CHECKOUT), name) for name in ("leaky", "product"))


def captured(*, module: str, test: str = "t[cutile]", refused: str | None = None) -> Capture:
    return Capture(
        operators=("leaky",),
        arch="sm_90",
        profile="h200",
        symbol="k",
        tests=(),
        launches=(replace(LAUNCH, test=test),),
        specialisations=(replace(SPECIALISATION, module=module, refused=refused),),
        versions={},
        seconds=0.0,
    )


def test_kernels_of_another_operators_module_are_left_to_its_port() -> None:
    found = captured(module=module_of(CHECKOUT, LEAKY))
    assert own_kernels(found, CHECKOUT, LEAKY) == found
    other = own_kernels(found, CHECKOUT, PRODUCT)
    assert (other.launches, other.specialisations) == ((), ())


def test_a_call_made_again_that_cutile_cannot_compile_is_left_out_and_a_tests_own_is_not() -> None:
    module = module_of(CHECKOUT, LEAKY)
    again = captured(module=module, test="t[cutile] again 0: ragged rows", refused="31 is no power of two")
    assert own_kernels(again, CHECKOUT, LEAKY).launches == ()
    assert own_kernels(captured(module=module, refused="31 is no power of two"), CHECKOUT, LEAKY).launches != ()
