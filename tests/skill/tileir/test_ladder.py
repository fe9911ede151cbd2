"""The ladder: what it may call equal, and what it must never."""

from __future__ import annotations

import pytest

from tileport_skill.tileir.ladder import Equal, Unknown, compare


@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
def test_a_renamed_kernel_has_the_same_cubin(gemm, arch):
    verdict = compare(gemm("a_times_b"), gemm("renamed"), arch)
    assert isinstance(verdict, Equal)
    assert verdict.proof.rung == "same cubin"
    assert verdict.proof.arch == arch
    assert verdict.proof.compiler is not None


@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
def test_a_times_b_is_never_b_times_a(gemm, arch):
    """Their device code is the same to the byte; only the host part of the cubin tells them apart."""
    assert not isinstance(compare(gemm("a_times_b"), gemm("b_times_a"), arch), Equal)


def test_different_entry_symbols_are_unknown_and_say_so(gemm):
    verdict = compare(gemm("a_times_b", symbol="one"), gemm("a_times_b", symbol="two"), "sm_90")
    assert isinstance(verdict, Unknown)
    assert "one and two" in verdict.reasons[0]


def test_weaker_promises_are_not_the_same_cubin(gemm):
    assert not isinstance(compare(gemm("a_times_b"), gemm("a_times_b", align=4), "sm_90"), Equal)


def test_unreadable_input_is_unknown_and_names_the_side(gemm):
    verdict = compare(gemm("a_times_b"), b"not bytecode", "sm_90")
    assert isinstance(verdict, Unknown)
    assert "second input" in verdict.reasons[0]
