"""What an analysis says about operators of our own, and grids as expressions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from tests.skill.capture.conftest import CHECKOUT

from tileport_skill.capture.analysis import Analysis, analyse
from tileport_skill.capture.grids import fit_grid
from tileport_skill.capture.records import (
    Capture,
    Constant,
    Hints,
    Launch,
    Specialisation,
    TensorArgument,
    ValueArgument,
)
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators


@pytest.fixture(scope="module")
def analysis(captured: Capture) -> Analysis:
    checkout = open_checkout(CHECKOUT)
    return analyse(checkout, find_operator(read_operators(checkout), "scale"), [captured])


def test_a_variant_names_grid_constants_types_and_tuning_space(analysis: Analysis) -> None:
    (scale,) = [variant for variant in analysis.variants if variant.kernel == "_scale_kernel"]
    assert scale.grid == ("cdiv(x.size(0), TILE)",)
    assert [(p.name, p.kind) for p in scale.parameters] == [
        ("x", "array"),
        ("y", "array"),
        ("factor", "scalar"),
        ("TILE", "constant"),
    ]
    assert scale.parameters[0].types == ("float32", "bfloat16")
    assert scale.parameters[3].values == ("128",)
    assert [hints.occupancy for hints in scale.tuning[0].hints] == [1, 2]
    assert not scale.backward_only


def test_what_was_not_captured_is_listed_with_its_line(analysis: Analysis) -> None:
    (line,) = [line for line in analysis.failures if "floats_do_not_exist" in line]
    assert "tilegym/ops/cutile/rows.py:18" in line


def test_an_analysis_survives_its_own_json_and_fits_its_schema(analysis: Analysis) -> None:
    adapter = TypeAdapter(Analysis)
    assert adapter.validate_json(adapter.dump_json(analysis)) == analysis
    assert set(adapter.json_schema()["required"]) <= set(json.loads(adapter.dump_json(analysis)))


def pair(grid: tuple[int, ...], shape: tuple[int, ...], tile: int) -> tuple[Launch, Specialisation]:
    strides = tuple(1 for _ in shape)
    launch = Launch(
        test="t",
        purpose="launch",
        specialisation="s",
        kernel="k",
        grid=grid,
        arguments=(
            TensorArgument(dtype="float32", shape=shape, strides=strides, offset=0, storage=0),
            ValueArgument(type="int", text=str(tile)),
        ),
        backward=False,
    )
    array = Constant(name="x", type="array", text="")
    specialisation = Specialisation(
        id="s",
        kernel="k",
        module="m",
        parameters=(array, Constant(name="TILE", type="int", text=str(tile))),
        hints=Hints(),
        calling_convention="t1",
        ir=None,
    )
    return launch, specialisation


@pytest.mark.parametrize(
    ("pairs", "grid"),
    [
        ([pair((5,), (5, 7), 2), pair((6,), (6, 9), 2)], ("x.size(0)",)),
        ([pair((4,), (7, 3), 2), pair((3,), (9, 3), 4)], ("cdiv(x.size(0), TILE)",)),
        ([pair((35,), (5, 7), 2), pair((54,), (6, 9), 2)], ("x.numel()",)),
        ([pair((2, 5), (5, 7), 4), pair((3, 6), (6, 9), 4)], ("cdiv(x.size(1), TILE)", "x.size(0)")),
        ([pair((132,), (5, 7), 2), pair((132,), (6, 9), 2)], ("132",)),
        ([pair((11,), (5, 7), 2), pair((13,), (5, 7), 2)], (None,)),
    ],
)
def test_a_grid_is_the_simplest_expression_that_fits_every_launch(
    pairs: list[tuple[Launch, Specialisation]], grid: tuple[str | None, ...]
) -> None:
    assert fit_grid(pairs) == grid


def test_analysis_reads_only_the_reference_itself(analysis: Analysis) -> None:
    assert analysis.reference == "tilegym/ops/cutile/scale.py"
    assert (CHECKOUT / Path(analysis.reference)).is_file()
    assert len(analysis.reference_sha256) == 64
