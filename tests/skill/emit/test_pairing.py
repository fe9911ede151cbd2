"""Which launch of a port stands for which of the reference, and every way in which none does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.skill.emit.test_mapping import LAUNCH, SPECIALISATION

from tileport_skill.capture.records import (
    Bytecode,
    Capture,
    PortLaunch,
    PortParameter,
    PortRecording,
    Scalar,
    Test,
    ValueArgument,
)
from tileport_skill.emit.pairing import Pair, flattened, paired

PARAMETERS = (
    PortParameter(type="ptr", value="storage 5 + 8"),
    PortParameter(type="i32", value="1000"),
    PortParameter(type="i32", value="1"),
    PortParameter(type="i32", value="12"),
)
PORT = PortLaunch(
    test="t",
    purpose="launch",
    grid=(8, 1, 1),
    parameters=PARAMETERS,
    ir=Bytecode(sha256="0" * 64, symbol="scale_entry"),
)


OUTLINES = {"small": "small tiles", "large": "large tiles", "larger": "larger tiles", "0" * 64: "other tiles"}


def pairs(
    *port: PortLaunch,
    launches: int = 1,
    status: str = "passed",
    tuned: int = 0,
    backward: int = 0,
    test: str = "t[cutile]",
) -> tuple[Pair, ...]:
    launch = replace(LAUNCH, test=test, port_ir=Bytecode(sha256="small", symbol="k"))
    reference = [replace(launch, purpose="tune")] * tuned + [launch] * launches
    reference += [replace(launch, backward=True)] * backward
    captured = Capture(
        operators=("scale",),
        arch="sm_90",
        profile="h200",
        symbol="k",
        tests=(),
        launches=tuple(reference),
        specialisations=(SPECIALISATION,),
        versions={},
        seconds=0.0,
    )
    ran = Test(id="t[cutile_rs]", status=status, launches=1, configurations=0, reason="no")  # type: ignore[arg-type]
    recorded = PortRecording(
        operators=("scale",),
        arch="sm_90",
        profile="h200",
        tests=(ran,),
        launches=tuple(replace(one, test="t[cutile_rs]") for one in port),
        versions={},
        seconds=0.0,
    )
    return paired(captured, recorded, OUTLINES.__getitem__)


def with_parameter(position: int, value: str, type: str = "i32") -> PortLaunch:
    changed = list(PARAMETERS)
    changed[position] = PortParameter(type=type, value=value)
    return replace(PORT, parameters=tuple(changed))


def test_the_same_grid_and_arguments_in_the_same_test_are_a_pair() -> None:
    (pair,) = pairs(PORT)
    assert pair.port is not None
    assert pair.reason == ""


@pytest.mark.parametrize(
    ("port", "reason"),
    [
        ([], "the port makes 0 launches in this test, the reference 1"),
        ([PORT, PORT], "the port makes 2 launches in this test, the reference 1"),
        ([replace(PORT, grid=(9, 1, 1))], "a grid of (9, 1, 1), the reference of (8, 1, 1)"),
        ([with_parameter(3, "13")], "parameter 3 is 13 in the port's launch, 12 in the reference's"),
        ([with_parameter(0, "storage 5 + 0", "ptr")], "parameter 0 points to storage 5 + 0"),
        (
            [replace(PORT, parameters=PARAMETERS[:3])],
            "takes other parameters: (ptr, i32, i32) against",
        ),
    ],
)
def test_any_other_launch_is_not_paired_and_says_what_differs(port: list[PortLaunch], reason: str) -> None:
    (pair,) = pairs(*port)
    assert pair.port is None
    assert reason in pair.reason


def test_a_port_without_a_backward_pass_is_paired_in_the_forward_one() -> None:
    by_pass = {pair.launch.backward: pair for pair in pairs(PORT, backward=1)}
    assert by_pass[False].port is not None
    assert (by_pass[True].port, by_pass[True].refused) == (None, True)
    assert by_pass[True].reason == "the port launches nothing in the backward pass"
    assert all(pair.port is not None for pair in pairs(PORT, PORT, backward=1))


def test_a_failed_test_of_the_port_pairs_nothing() -> None:
    (pair,) = pairs(PORT, status="failed")
    assert (pair.port, pair.reason, pair.refused) == (None, "the port's test failed: no", False)


def tuned(*sizes: str) -> tuple[PortLaunch, ...]:
    """The tuner's tries, then the launch with the first of them."""
    tries = [replace(PORT, ir=Bytecode(sha256=size, symbol="scale_entry")) for size in sizes]
    return (*(replace(one, purpose="tune") for one in tries), tries[0])


def test_as_many_configurations_are_paired_in_their_order() -> None:
    found = pairs(*tuned("small"), tuned=1)
    assert [pair.port is not None for pair in found] == [True, True]


def test_of_another_number_of_configurations_each_is_paired_with_one_like_it() -> None:
    (pair,) = pairs(*tuned("large", "small"), tuned=1)[:1]
    assert pair.port is not None
    assert pair.port.ir.sha256 == "small"


def test_a_configuration_the_port_leaves_out_counts_for_nothing_and_one_of_its_own_counts() -> None:
    left_out, own = pairs(*tuned("large", "larger")[:2], PORT, tuned=1)[:2]
    assert (left_out.port, left_out.untried) == (None, True)
    assert "leaves this configuration out: small tiles" in left_out.reason
    assert (own.port, own.untried) == (None, False)
    assert "tries a configuration that the reference's tuner does not: large tiles" in own.reason


def test_a_configuration_of_the_same_name_on_another_grid_is_not_paired_and_counts() -> None:
    tries = [replace(one, grid=(9, 1, 1)) for one in tuned("small", "large")]
    (pair, *_) = pairs(*tries, tuned=1)
    assert (pair.port, pair.untried) == (None, False)
    assert "a grid of (9, 1, 1)" in pair.reason


def test_a_benchmark_of_the_reference_needs_no_counterpart() -> None:
    assert pairs(test="tests/benchmark/bench_scale.py::bench_scale[1024]") == ()
    (pair,) = pairs(test="tests/ops/test_scale.py::test_op[cutile]")
    assert "no such case for the port" in pair.reason


def test_a_number_with_a_fraction_is_compared_as_the_32_bits_that_both_kernels_receive() -> None:
    launch = replace(LAUNCH, arguments=(ValueArgument(type="float", text="0.04"),))
    specialisation = replace(SPECIALISATION, parameters=(Scalar(name="scale", dtype="float32"),))
    (found,) = flattened(launch, specialisation)
    assert found == PortParameter(type="f32", value="0.03999999910593033")
