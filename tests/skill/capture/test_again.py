"""An operator's calls made once more with awkward arguments."""

from __future__ import annotations

import pytest

from tileport_skill.capture.records import Array, Capture


@pytest.fixture(scope="module")
def again(run) -> Capture:
    return run("scale", "rows", again=True)


def _of(captured: Capture, what: str):
    return [launch for launch in captured.launches if launch.test.endswith(f"again 0: {what}")]


def test_every_other_element_is_launched_with_a_stride_and_compiled_for_any(again: Capture) -> None:
    launches = [one for one in _of(again, "every other element") if one.arguments[0].strides == (2,)]
    assert launches
    known = {one.id: one for one in again.specialisations}
    array = known[launches[0].specialisation].parameters[0]
    assert isinstance(array, Array)
    assert array.stride_constant == (None,)
    assert launches[0].port_ir is not None


def test_calls_are_made_in_the_other_element_types(again: Capture) -> None:
    made = {one.test.split(" again ")[1]: one for one in again.launches if " again 0: in " in one.test}
    assert {"0: in float16", "0: in float32", "0: in bfloat16"} == set(made)
    for what, launch in made.items():
        assert launch.arguments[0].dtype == what.removeprefix("0: in ")


def test_a_tuner_that_no_switch_turns_off_tries_everything_again_as_a_port_may_too(again: Capture) -> None:
    found = {one.configuration for one in again.launches if " again " in one.test}
    assert found == {"namespace(occupancy=1)", "namespace(occupancy=2)", None}


def test_gradients_are_asked_for_where_the_test_asked_for_them(again: Capture) -> None:
    made = [one for one in _of(again, "misaligned") if "backward" in one.test]
    assert [one.backward for one in made if one.purpose == "launch"] == [False, True]


def test_what_the_operator_refuses_leaves_no_launch_and_no_kernel(again: Capture) -> None:
    refused = [test for test in again.tests if " again " in test.id and test.status == "skipped"]
    assert refused, "transposed rows cannot be flattened"
    assert not {test.id for test in refused} & {launch.test for launch in again.launches}
    assert {launch.specialisation for launch in again.launches} == {one.id for one in again.specialisations}


def test_benchmarks_are_not_made_again_as_the_correctness_gate_does_not_run_them(again: Capture) -> None:
    assert any(launch.test.startswith("tests/benchmark/") for launch in again.launches)
    assert not [test.id for test in again.tests if " again " in test.id and test.id.startswith("tests/benchmark/")]


def test_a_call_made_again_that_does_not_end_is_given_up_and_the_next_is_made(run) -> None:
    tests = [test for test in run("hang", again=True, each=2.0).tests if "test_friendly again 0: " in test.id]
    found = {test.id.split(" again 0: ")[1]: test for test in tests}
    assert found["every other element"].status == "skipped"
    assert "TestTimedOut" in (found["every other element"].reason or "")
    assert found["misaligned"].status == "passed"


def test_without_being_asked_for_no_call_is_made_again(captured: Capture) -> None:
    assert not [test for test in captured.tests if " again " in test.id]
