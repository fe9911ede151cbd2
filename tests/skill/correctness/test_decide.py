"""Each check fires on its own defect and on nothing else; a recorded run is judged as a person would judge it."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest
from tests.skill.correctness.evidence import (
    ITEM,
    PORT_KERNEL,
    REFERENCE_KERNEL,
    TORCH_COPY,
    flawless,
    recorded,
    with_call,
    with_output,
    with_port,
    with_test,
)

from tileport_skill.correctness.decide import Check, allowed_skips, judgement, not_measured, problems
from tileport_skill.correctness.records import Comparison, Evidence, Kernel, Sanitized, to_json

GOOD = flawless()


def fired(evidence: Evidence) -> set[str]:
    return {problem.check for problem in problems(evidence)}


def work(*names: str, stream: int = 7) -> tuple[Kernel, ...]:
    return tuple(Kernel(name=name, stream=stream) for name in names)


def test_the_recorded_port_is_rejected_for_the_backward_tests_that_it_skips() -> None:
    assert fired(recorded()) == {"skips"}


SAYS = "Skipped: multi_wave_cached mode is not implemented for backend cutile-rs"


def cached_mode(operator: str = "rms_norm", **changes: object) -> Evidence:
    """A run of `operator` in which the one case of a mode ends as `changes` say."""
    named = [dataclasses.replace(run, id=f"{run.id}[multi_wave_cached]") for run in GOOD.reference.tests]
    evidence = dataclasses.replace(
        GOOD,
        job=dataclasses.replace(GOOD.job, operator=operator),
        reference=dataclasses.replace(GOOD.reference, tests=tuple(named)),
    )
    ends = {"outcome": "skipped", "message": SAYS, "dispatched": 0, "kernels": ()} | changes
    return with_port(evidence, tests=tuple(dataclasses.replace(run, **ends) for run in named))  # type: ignore[arg-type]


def test_a_skip_that_the_operators_entry_allows_speaks_against_nobody() -> None:
    assert problems(cached_mode()) == ()
    assert set(allowed_skips(cached_mode()).values()) == {
        "TileGym's test runs this mode for the two backends that it names"
    }


@pytest.mark.parametrize(
    "evidence",
    [
        cached_mode(operator="softmax"),
        cached_mode(message="Skipped: not today"),
        cached_mode(dispatched=1),
    ],
    ids=["of another operator", "for another reason", "raised by the port"],
)
def test_any_other_skip_speaks_against_the_port(evidence: Evidence) -> None:
    assert fired(evidence) == {"skips"}


def test_the_recorded_run_measured_nothing_because_no_call_could_be_made_again() -> None:
    assert "no value was compared" in (not_measured(recorded()) or "")


def test_a_port_without_fault_has_nothing_against_it_and_was_measured() -> None:
    assert problems(flawless()) == ()
    assert not_measured(flawless()) is None


def test_a_reference_that_broke_down_speaks_against_nobody() -> None:
    """Its process takes both sides' traces with it: without CUPTI no entry of the port was ever seen to run."""
    untraced = with_port(GOOD, exit="died with status 1", observations=())
    broken = dataclasses.replace(untraced, reference=dataclasses.replace(GOOD.reference, exit="died with status 1"))
    assert "reference's process died" in str(judgement(broken))
    assert judgement(GOOD) == ()


SPOILT: dict[str, tuple[Check, Evidence]] = {
    "another library": ("library", dataclasses.replace(GOOD, library_sha256="0")),
    "a process that dies": ("process", with_port(GOOD, exit="died with status -11 during call 0, misaligned")),
    "a call never come to": ("process", with_port(GOOD, observations=GOOD.port.observations[:1])),
    "a lost test": ("tests", with_port(GOOD, tests=GOOD.port.tests[1:])),
    "a failed test": ("tests", with_test(GOOD, outcome="failed", message="off by one")),
    "a test that breaks down": ("tests", with_test(GOOD, outcome="error", message="fixture")),
    "a skipped test": ("skips", with_test(GOOD, outcome="skipped", message="not today")),
    "a launch of cuTile Python": ("bypass", with_test(GOOD, reference_launches=1)),
    "a test that never reaches the port": ("bypass", with_test(GOOD, dispatched=0)),
    "the reference's kernel in a test": ("bypass", with_test(GOOD, kernels=(PORT_KERNEL, REFERENCE_KERNEL))),
    "the reference's kernel in a call": ("bypass", with_call(GOOD, work=work(PORT_KERNEL, REFERENCE_KERNEL))),
    "a result without a gradient": ("gradients", with_output(GOOD, requires_grad=False)),
    "torch's kernel in a test": ("kernels", with_test(GOOD, kernels=(PORT_KERNEL, "silu_kernel"))),
    "torch's kernel in a call": ("kernels", with_call(GOOD, work=work(PORT_KERNEL, "silu_kernel"))),
    "no kernel of the port in a call": ("kernels", with_call(GOOD, work=())),
    "no kernel of the port in a test": ("kernels", with_test(GOOD, kernels=())),
    "an entry that never runs": (
        "entries",
        dataclasses.replace(GOOD, job=dataclasses.replace(GOOD.job, entries=(*GOOD.job.entries, "swiglu_backward"))),
    ),
    "one copy too many": ("copies", with_call(GOOD, work=work(TORCH_COPY, TORCH_COPY, PORT_KERNEL))),
    "a copy by the driver": ("copies", with_call(GOOD, work=work("driver copy", PORT_KERNEL))),
    "a copy in a test": ("copies", with_test(GOOD, kernels=("driver copy", PORT_KERNEL))),
    "another stream": ("stream", with_call(GOOD, work=work(TORCH_COPY) + work(PORT_KERNEL, stream=13))),
    "a thread left behind": ("threads", with_call(GOOD, threads=1)),
    "a class of its own": ("types", with_output(GOOD, type="port.Later")),
    "no memory": ("types", with_output(GOOD, storage=False)),
    "two results": ("types", with_call(GOOD, outputs=GOOD.port.observations[0].outputs * 2)),
    "other strides": ("layout", with_output(GOOD, stride=(12, 1))),
    "another element type": ("layout", with_output(GOOD, dtype="torch.float16")),
    "the input's memory": ("layout", with_output(GOOD, alias=0)),
    "a changed input": ("inputs", with_call(GOOD, changed=(0,))),
    "a refusal": ("accepts", with_call(GOOD, error="ValueError: contiguous only")),
    "another value": (
        "values",
        dataclasses.replace(
            GOOD, comparisons=(Comparison(item=ITEM, identical=False, problems=("x",)), GOOD.comparisons[1])
        ),
    ),
    "values that are gone": ("values", dataclasses.replace(GOOD, comparisons=GOOD.comparisons[:1])),
    "an access outside": (
        "memory",
        dataclasses.replace(GOOD, sanitized=Sanitized(calls=3, errors=("Invalid __global__ read of size 4",))),
    ),
    "a replaced function": ("integrity", with_port(GOOD, patched=("torch.allclose",))),
    "a slowed baseline": (
        "integrity",
        with_port(GOOD, fingerprint=GOOD.port.fingerprint | {"tests.common.compare_tensors": "cc"}),
    ),
    "a lost function": ("integrity", with_port(GOOD, fingerprint={"tests.common.compare_tensors": "bb"})),
}


@pytest.mark.parametrize("defect", SPOILT)
def test_one_defect_is_found_by_its_own_check_alone(defect: str) -> None:
    check, evidence = SPOILT[defect]
    assert fired(evidence) == {check}


def test_every_check_has_a_defect_here_but_the_one_that_reads_bytecode() -> None:
    assert {check for check, _ in SPOILT.values()} == set(get_args(Check)) - {"bytecode"}


def test_a_gradient_missing_in_a_test_alone_is_found() -> None:
    first, *rest = GOOD.reference.tests
    reference = dataclasses.replace(GOOD.reference, tests=(dataclasses.replace(first, gradients=(True,)), *rest))
    assert fired(dataclasses.replace(GOOD, reference=reference)) == {"gradients"}


def test_what_the_reference_does_not_take_the_port_need_not_take() -> None:
    first, *rest = GOOD.reference.observations
    refused = dataclasses.replace(GOOD.reference, observations=(dataclasses.replace(first, error="too large"), *rest))
    assert fired(dataclasses.replace(with_call(GOOD, error="too large"), reference=refused)) == set()


def test_a_test_that_the_reference_fails_is_asked_of_nobody() -> None:
    first, *rest = GOOD.reference.tests
    failing = dataclasses.replace(GOOD.reference, tests=(dataclasses.replace(first, outcome="failed"), *rest))
    assert fired(dataclasses.replace(with_test(GOOD, outcome="failed"), reference=failing)) == set()


def test_doing_without_a_copy_that_the_reference_makes_is_no_fault() -> None:
    assert fired(with_call(GOOD, work=work(PORT_KERNEL))) == set()


def test_a_port_that_leaves_nothing_to_compare_is_rejected_and_not_unmeasured() -> None:
    vanished = dataclasses.replace(with_port(GOOD, observations=()), comparisons=())
    assert fired(vanished) == {"process"}
    assert not_measured(vanished) is None


@pytest.mark.parametrize("exit", ["died with status 1", "stopped after 900 s during the tests, traced"])
def test_a_reference_that_breaks_down_says_nothing_about_the_port(exit: str) -> None:
    broken = dataclasses.replace(GOOD, reference=dataclasses.replace(GOOD.reference, exit=exit))
    assert exit in (not_measured(broken) or "")


def test_a_run_in_which_no_test_reached_the_reference_measured_nothing() -> None:
    away = tuple(dataclasses.replace(run, dispatched=0) for run in GOOD.reference.tests)
    assert "reached the operator" in (
        not_measured(dataclasses.replace(GOOD, reference=dataclasses.replace(GOOD.reference, tests=away))) or ""
    )


def test_evidence_is_read_as_it_was_written() -> None:
    from pydantic import TypeAdapter

    assert TypeAdapter(Evidence).validate_json(to_json(GOOD)) == GOOD
