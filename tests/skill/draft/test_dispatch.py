"""What a wrapper asks of its launcher, read as the launcher reads it, and every way it can be another launch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.skill.draft.conftest import array, constant

from tileport_skill.capture.records import (
    CallRecording,
    Capture,
    CArray,
    CCall,
    CNumber,
    Hints,
    Launch,
    Scalar,
    Specialisation,
    TensorArgument,
    Test,
    ValueArgument,
)
from tileport_skill.draft.crossing import ArrayArgument, CFunction, FixedArgument, ScalarArgument
from tileport_skill.draft.dispatch import Agreement, Unserved, agreement, exit_status, resolve

X = ArrayArgument(python="x", name="x", element="E", rank=2, pointer=True, dense=True)
FUNCTION = CFunction(
    kernel="_rows",
    python=("x", "y", "factor", "TILE", "EPS", "FAST"),
    entry="rows",
    symbol="cutile_rows",
    arguments=(
        X,
        replace(X, python="y", name="y", pointer=False, dense=False),
        ScalarArgument(python="factor", name="factor", type="f32"),
        FixedArgument(python="TILE", name="tile", type="i32", generic="TILE"),
        FixedArgument(python="EPS", name="eps", type="f32", generic="EPS_BITS"),
        FixedArgument(python="FAST", name="fast", type="bool", generic="FAST"),
    ),
    types=("E",),
    generics=("E", "EMma", "TILE", "EPS_BITS", "FAST"),
    dtypes=(("f32",), ("bf16",)),
    guard="",
)
IN_C = CArray(pointer="storage 0 + 8", shape=(4, 100), strides=(200, 1), dtype=0)
OUT = replace(IN_C, pointer="storage 1 + 0", strides=(100, 1))
TENTH = 0.10000000149011612
NUMBERS = (TENTH, 128, 0.0010000000474974513, 1, 4, 1, 1, -1, 2, 0, 0)
CALL = CCall(
    test="t[cutile-rs]",
    purpose="launch",
    symbol="cutile_rows",
    arguments=(IN_C, OUT, *(CNumber(value=value) for value in NUMBERS)),
)
SPECIALISATION = Specialisation(
    id="s",
    kernel="_rows",
    module="m",
    parameters=(
        array("x", "float32", 2),
        array("y", "float32", 2),
        Scalar(name="factor", dtype="float32"),
        constant("TILE", 128),
        replace(constant("EPS", 0), type="float", text="0.001"),
        constant("FAST", True),
    ),
    hints=Hints(occupancy=2),
    calling_convention="t1",
    ir=None,
)
TENSOR = TensorArgument(dtype="float32", shape=(4, 100), strides=(200, 1), offset=2, storage=0)
LAUNCH = Launch(
    test="t[cutile]",
    purpose="launch",
    specialisation="s",
    kernel="_rows",
    grid=(4,),
    arguments=(
        TENSOR,
        replace(TENSOR, strides=(100, 1), offset=0, storage=1),
        ValueArgument(type="float", text="0.1"),
        ValueArgument(type="int", text="128"),
        ValueArgument(type="float", text="0.001"),
        ValueArgument(type="bool", text="True"),
    ),
    backward=False,
)


def compared(
    *calls: CCall,
    launches: int = 1,
    status: str = "passed",
    function: CFunction = FUNCTION,
    chosen: dict[str, str] | None = None,
) -> Agreement:
    ran = Test(id="t[cutile-rs]", status=status, launches=0, configurations=0, reason="it raised")  # type: ignore[arg-type]
    common = {"operators": ("rows",), "arch": "sm_90", "profile": "h200", "versions": {}, "seconds": 0.0}
    captured = Capture(
        **common,  # type: ignore[arg-type]
        symbol="k",
        tests=(),
        launches=(LAUNCH,) * launches,
        specialisations=(SPECIALISATION,),
    )
    return agreement(captured, CallRecording(**common, tests=(ran,), calls=calls), (function,), chosen or {})  # type: ignore[arg-type]


def with_argument(place: int, value: CArray | float) -> CCall:
    given = list(CALL.arguments)
    given[place] = value if isinstance(value, CArray) else CNumber(value=value)
    return replace(CALL, arguments=tuple(given))


def test_a_call_is_resolved_to_entry_generics_grid_and_arguments() -> None:
    found = resolve(FUNCTION, CALL)
    assert found.function.entry == "rows"
    assert found.generics == ("f32", "tf32", "128", "981668463", "true")
    assert (found.grid, found.occupancy, found.num_ctas) == ((4, 1, 1), 2, None)
    assert [p.value for p in found.parameters[:5]] == ["storage 0 + 8", "4", "100", "200", "1"]
    assert found.parameters[-1].value == repr(TENTH)


def test_the_call_that_is_the_reference_launch_agrees() -> None:
    found = compared(CALL)
    assert (found.launches, found.agree, found.wrong, found.missing) == (1, 1, {}, {})
    assert exit_status([found]) == 0


def test_a_number_that_the_host_derives_is_derived_from_the_captured_constants_too() -> None:
    half = FixedArgument(python="TILE // 2", name="half", type="i32", generic="HALF")
    function = replace(FUNCTION, arguments=(*FUNCTION.arguments[:3], half), generics=("E", "HALF"))
    given = [*CALL.arguments[:3], CNumber(value=64), *CALL.arguments[6:]]
    assert compared(replace(CALL, arguments=tuple(given)), function=function).agree == 1
    given[3] = CNumber(value=128)
    (reason,) = compared(replace(CALL, arguments=tuple(given)), function=function).wrong
    assert "generics are f32, 128, of the reference's launch f32, 64" in reason


def test_of_several_entries_the_one_that_was_written_for_the_launch_has_to_be_called() -> None:
    assert compared(CALL, chosen={"s": "rows"}).agree == 1
    (reason,) = compared(CALL, chosen={"s": "rows_2"}).wrong
    assert "launches rows, but rows_2 stands for" in reason


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (with_argument(0, replace(IN_C, pointer="storage 0 + 4")), "points to storage 0 + 4"),
        (with_argument(1, replace(OUT, pointer="storage 0 + 0")), "two arrays of the reference are one"),
        (with_argument(0, replace(IN_C, strides=(100, 1))), "parameter 3 is 100"),
        (with_argument(2, 0.5), "parameter 10 is 0.5"),
        (with_argument(3, 64), "generics are f32, tf32, 64"),
        (with_argument(4, 0.002), "generics are f32, tf32, 128, 990057071"),
        (with_argument(5, 0), "false, of the reference's launch"),
        (with_argument(6, 5), "a grid of (5, 1, 1)"),
        (with_argument(9, 2), "num_ctas=2; the reference's"),
        (with_argument(10, -1), "occupancy=None"),
        (with_argument(6, 0), "the launcher refuses the call: invalid arguments: a grid"),
        (with_argument(0, replace(IN_C, strides=(1, 100))), "the last stride of x is 100"),
        (with_argument(0, replace(IN_C, dtype=1)), "unsupported dtype: y holds f32, not f16"),
        (replace(CALL, symbol="cutile_other"), "cutile_other is no function of the launcher"),
        (replace(CALL, arguments=CALL.arguments[:-1]), "called with 12 arguments"),
    ],
)
def test_any_other_call_is_wrong_and_says_in_what(call: CCall, reason: str) -> None:
    found = compared(call)
    assert found.agree == 0
    (said,) = found.wrong
    assert said.startswith("_rows: ")
    assert reason in said
    assert exit_status([found]) == 10


def test_an_entry_that_stands_for_another_kernel_is_wrong() -> None:
    (said,) = compared(CALL, function=replace(FUNCTION, kernel="_columns")).wrong
    assert "stands for _columns" in said


def test_an_element_type_that_was_never_captured_is_refused() -> None:
    half = replace(IN_C, dtype=1)
    call = replace(CALL, arguments=(half, replace(OUT, dtype=1), *CALL.arguments[2:]))
    with pytest.raises(Unserved, match="unsupported dtype: f16"):
        resolve(FUNCTION, call)


@pytest.mark.parametrize("shape", [(0, 100), (4, 2**31), (4,)])
def test_sizes_that_a_kernel_cannot_be_told_of_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(Unserved, match="invalid arguments"):
        resolve(FUNCTION, with_argument(0, replace(IN_C, shape=shape)))


def test_a_launch_more_or_less_is_wrong_and_a_test_that_fails_is_not_seen() -> None:
    assert exit_status([compared(CALL, launches=2)]) == 10
    assert exit_status([compared(CALL, CALL)]) == 10
    failed = compared(status="failed")
    assert failed.missing == {"_rows: the port's test failed: it raised": 1}
    assert exit_status([failed]) == 11


def test_nothing_compared_is_nothing_shown() -> None:
    assert exit_status([]) == 11
    assert exit_status([compared(launches=0)]) == 11
