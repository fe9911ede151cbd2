"""Kernels of `tests/data/drafts/.../irregular.py`, drafted from their Tile IR once."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tileport_skill.capture.records import Array, Constant, Hints, Parameter, Scalar, Specialisation
from tileport_skill.draft.operator import KernelDraft, draft_kernel
from tileport_skill.tilegym.operators import Operator, open_checkout

ROOT = Path(__file__).parents[3] / "data" / "drafts"
REFERENCE = "tilegym/ops/cutile/irregular.py"
OPERATOR = Operator(name="irregular", aliases=("irregular",), reference=REFERENCE, kernels=(), tests=(), ported=False)


def array(name: str, dtype: str = "float32") -> Array:
    return Array(
        name=name,
        dtype=dtype,
        ndim=1,
        index_dtype="int32",
        stride_constant=(1,),
        shape_constant=(None,),
        stride_divisible_by=(1,),
        shape_divisible_by=(1,),
        base_divisible_by=16,
        may_alias_internally=False,
    )


def constant(name: str, value: int) -> Constant:
    return Constant(name=name, type="int", text=repr(value))


def of(kernel: str, *parameters: Parameter) -> Specialisation:
    return Specialisation(
        id=f"{kernel} {parameters}",
        kernel=kernel,
        module="tilegym.ops.cutile.irregular",
        parameters=parameters,
        hints=Hints(),
        calling_convention="t1",
        ir=None,
    )


def specialisations() -> list[Specialisation]:
    found = []
    for dtype in ("bfloat16", "float16"):
        arrays = (array("x", dtype), array("y", dtype))
        found += [of("_halved_kernel", *arrays, constant("TILE", n), constant("PARTS", n // 8)) for n in (32, 64)]
    arrays = (array("x"), array("y"))
    limit, steps = (Scalar(name=name, dtype="int32") for name in ("limit", "steps"))
    whole = (array("x", "int32"), array("y", "int32"))
    return [
        *found,
        of("_branching_kernel", *arrays, limit, constant("TILE", 32)),
        of("_halving_kernel", *arrays, steps, constant("TILE", 32)),
        of("_shifted_kernel", *whole, constant("TILE", 32)),
    ]


@pytest.fixture(scope="session")
def irregular() -> KernelDraft:
    return draft_kernel(open_checkout(ROOT), OPERATOR, specialisations(), "sm_90", route="tile-ir")


@pytest.fixture(scope="session")
def declared() -> KernelDraft:
    shifted = [one for one in specialisations() if one.kernel == "_shifted_kernel"]
    again = [dataclasses.replace(one, id=f"{one.id} again") for one in shifted]
    return draft_kernel(open_checkout(ROOT), OPERATOR, shifted + again, "sm_90", route="tile-ir", declare=True)
