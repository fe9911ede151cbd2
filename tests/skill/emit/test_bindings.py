"""Tables of what a launcher passes: read, evaluated, and refused where they do not fit."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tileport_skill.capture.records import Array, Constant, Hints, Launch, Specialisation, TensorArgument, ValueArgument
from tileport_skill.emit.bindings import OURS, Binding, bound_request, evaluated, read_bindings
from tileport_skill.emit.entries import (
    ConstGeneric,
    Entry,
    PointerParameter,
    ScalarParameter,
    TensorParameter,
    TypeGeneric,
)
from tileport_skill.emit.mapping import Unmapped
from tileport_skill.errors import RequestError

X = TensorArgument(dtype="float32", shape=(6, 8), strides=(24, 1), offset=3, storage=0)
VALUES = {"x": X, "N": 96, "flag": True, "scale": 0.5}
LAUNCH = Launch(
    test="t",
    purpose="launch",
    specialisation="s",
    kernel="_k",
    grid=(6,),
    arguments=(X, ValueArgument(type="float", text="0.5"), ValueArgument(type="int", text="96")),
    backward=False,
)
SPECIALISATION = Specialisation(
    id="s",
    kernel="_k",
    module="m",
    parameters=(
        Array(
            name="x",
            dtype="float32",
            ndim=2,
            index_dtype="int32",
            stride_constant=(None, 1),
            shape_constant=(None, None),
            stride_divisible_by=(4, 1),
            shape_divisible_by=(1, 1),
            base_divisible_by=1,
            may_alias_internally=False,
        ),
        Constant(name="scale", type="float", text="0.5"),
        Constant(name="N", type="int", text="96"),
    ),
    hints=Hints(occupancy=2),
    calling_convention="v1",
    ir=None,
)
ENTRY = Entry(
    name="k",
    generics=(TypeGeneric(name="E"), ConstGeneric(name="BLOCK", dtype="i32"), ConstGeneric(name="F32", dtype="i32")),
    parameters=(
        PointerParameter(name="p", element="E"),
        ScalarParameter(name="row", dtype="i32"),
        ScalarParameter(name="scale", dtype="f32"),
        TensorParameter(name="t", element="E", shape=("-1", "-1"), mutable=False),
    ),
)
BINDING = Binding(
    kernel="_k",
    entry="k",
    generics={"BLOCK": "N * 2", "F32": "is_float32(x)"},
    parameters={"p": "x", "row": "x.stride(0)", "scale": "scale", "t": "x"},
)


def test_a_binding_makes_the_request_that_its_launcher_would() -> None:
    request = bound_request(BINDING, ENTRY, LAUNCH, SPECIALISATION, "sm_90", "kernel_entry")
    assert request.generics == ("f32", "192", "1")
    assert request.scalars == (("p", 4), ("row", 8))  # three floats past an aligned address; a stride of 24; no float
    assert [(t.name, t.stride_one) for t in request.tensors] == [("t", (False, True))]
    assert request.occupancy == 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("N", 96),
        ("7", 7),
        ("x.size(0)", 6),
        ("x.size(1) * 2 - 1", 15),
        ("(N + 63) // 64", 2),
        ("is_float32(x)", 1),
        ("flag", True),
        ("-(-N // 64) * 64", 128),
        ("1 << (N - 1).bit_length()", 128),
        ("min(N, 8) + max(N, 8)", 104),
        ("1.0 / N", 1 / 96),
        ("float(N)", 96.0),
    ],
)
def test_expressions_over_a_launch(text: str, value: object) -> None:
    assert evaluated(text, VALUES) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "y",
        "x.size(2)",
        "x.data_ptr()",
        "N / 2",
        "N // 0",
        "scale // 2",
        "x * 2.0",
        "__import__('os')",
        "x.size",
        "N if 1 else 2",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(Unmapped, match="has no value for this launch"):
        evaluated(text, VALUES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"p": "x", "row": "1", "scale": "scale"}},
        {"parameters": {"p": "N", "row": "1", "scale": "scale", "t": "x"}},
        {"parameters": {"p": "x", "row": "x", "scale": "scale", "t": "x"}},
        {"generics": {"BLOCK": "N"}},
        {"generics": {"BLOCK": "x", "F32": "1"}},
    ],
)
def test_a_binding_that_does_not_fit_the_entry_is_refused(change: dict[str, dict[str, str]]) -> None:
    binding = dataclasses.replace(BINDING, **change)
    with pytest.raises(Unmapped):
        bound_request(binding, ENTRY, LAUNCH, SPECIALISATION, "sm_90", "kernel_entry")


def test_the_table_for_tilegyms_own_ports_reads(tmp_path: Path) -> None:
    assert next((one.kernel, one.entry) for one in read_bindings(OURS)) == (
        "_silu_and_mul_kernel_row_wise",
        "silu_and_mul_kernel",
    )
    for text in ("[[binding]]\nkernel = 1\n", "nonsense", '[[binding]]\nkernel = "k"\n'):
        (tmp_path / "b.toml").write_text(text)
        with pytest.raises(RequestError, match="is no table of bindings"):
            read_bindings(tmp_path / "b.toml")
