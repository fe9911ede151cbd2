"""The compiler's readings of the kernels in `tests/data/drafts`, asked for once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tileport_skill.capture.records import Array, Constant, Hints, Parameter, Scalar, Specialisation
from tileport_skill.draft.operator import KernelDraft, translate
from tileport_skill.draft.oracle.records import Answer
from tileport_skill.draft.oracle.session import ask
from tileport_skill.tilegym.operators import Operator, open_checkout

ROOT = Path(__file__).parents[2] / "data" / "drafts"
REFERENCE = "tilegym/ops/cutile/drafted.py"


def array(name: str, dtype: str, ndim: int) -> Array:
    return Array(
        name=name,
        dtype=dtype,
        ndim=ndim,
        index_dtype="int32",
        stride_constant=(None,) * (ndim - 1) + (1,),
        shape_constant=(None,) * ndim,
        stride_divisible_by=(1,) * ndim,
        shape_divisible_by=(1,) * ndim,
        base_divisible_by=16,
        may_alias_internally=False,
    )


def strided(name: str, dtype: str, ndim: int) -> Array:
    return replace(array(name, dtype, ndim), stride_constant=(None,) * ndim)


def constant(name: str, value: int | float | bool) -> Constant:
    return Constant(name=name, type=type(value).__name__, text=repr(value))


def specialisation(kernel: str, *parameters: Parameter) -> Specialisation:
    return Specialisation(
        id=f"{kernel} {parameters}",
        kernel=kernel,
        module="tilegym.ops.cutile.drafted",
        parameters=parameters,
        hints=Hints(),
        calling_convention="t1",
        ir=None,
    )


def specialisations() -> list[Specialisation]:
    found = []
    for dtype in ("float32", "bfloat16"):
        one, two = (lambda name, d=dtype: array(name, d, 1)), (lambda name, d=dtype: array(name, d, 2))
        tile = constant("TILE", 32)
        leaky = (one("x"), one("y"), constant("BLOCK", 128), constant("SQUARE", False))
        factor = Scalar(name="factor", dtype="float32")
        found += [
            specialisation("_leaky_kernel", *leaky),
            specialisation("_leaky_kernel", strided("x", dtype, 1), *leaky[1:]),
            specialisation("_rows_kernel", two("x"), one("w"), two("y"), factor, constant("ROWS", 7), tile),
            specialisation("_halves_kernel", two("x"), tile),
            specialisation("_product_kernel", two("a"), two("b"), two("c"), tile),
            specialisation("_running_kernel", one("x"), one("y"), tile),
            specialisation("_half_tile_kernel", one("x"), one("y"), tile),
            specialisation("_thinned_kernel", one("x"), one("y"), constant("P", 0.25), constant("BLOCK", 128)),
            specialisation(
                "_below_kernel", two("x"), two("y"), Scalar(name="first", dtype="int32"), constant("CAUSAL", 1), tile
            ),
            specialisation("_box_kernel", array("x", dtype, 3), array("y", dtype, 3), tile),
            specialisation("_square_kernel", two("x"), two("y"), tile),
            specialisation("_either_rank_kernel", one("x"), one("y"), tile),
            specialisation("_either_rank_kernel", two("x"), one("y"), tile),
            specialisation("_same_size_kernel", one("x"), one("y"), tile, constant("OTHER", 32)),
            *(
                specialisation(
                    *("_centred_kernel", two("x"), array("means", "float32", 1), two("y")),
                    *(constant("KNOWN", known), constant("D", 32), constant("ROWS", rows)),
                )
                for known in (0, 1)
                for rows in (1, 4)
            ),
            *(
                specialisation(
                    *("_padded_kernel", one("x"), one("bias"), one("y"), Scalar(name="length", dtype="int32")),
                    *(constant("BIAS", bias), tile),
                )
                for bias in (0, 1)
            ),
            *(specialisation("_flags_kernel", one("x"), one("y"), constant("FLAGS", n), tile) for n in (1, 2)),
        ]
    return found


@pytest.fixture(scope="session")
def readings() -> tuple[Answer, tuple[Specialisation, ...]]:
    operator = Operator(name="drafted", aliases=("drafted",), reference=REFERENCE, kernels=(), tests=(), ported=False)
    return ask(open_checkout(ROOT), operator, specialisations(), "sm_90")


@pytest.fixture(scope="session")
def draft(readings: tuple[Answer, tuple[Specialisation, ...]]) -> KernelDraft:
    return translate("drafted", *readings, declare=False)


@pytest.fixture(scope="session")
def declared(readings: tuple[Answer, tuple[Specialisation, ...]]) -> KernelDraft:
    """The same kernels, where they may declare operations."""
    return translate("drafted", *readings, declare=True)
