"""The ladder: what it may call equal, and what it must never."""

from __future__ import annotations

import random

import pytest

from tileport_skill.tileir.assemble import disassemble
from tileport_skill.tileir.ladder import (
    Different,
    Equal,
    Setting,
    Source,
    Unknown,
    compare,
    compare_in,
    compare_sources,
)
from tileport_skill.tileir.search import Budget


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


@pytest.mark.parametrize("budget", [Budget(graphs_first=True), Budget(any_speed=True)])
def test_no_cubin_is_made_of_what_graphs_show_equal_if_they_come_first(gemm, budget):
    # No such architecture: whoever asks tileiras is refused.
    verdict = compare(gemm("a_times_b"), gemm("renamed"), "sm_1", budget)
    assert isinstance(verdict, Equal)
    assert verdict.proof.rung == "same graph"


def test_what_multiplies_no_matrices_is_assembled_all_the_same(soak):
    """That takes less than a second, and the same cubin says more."""
    kernel = soak("tileir_kernels").exported("softmax")
    verdict = compare(kernel, kernel, "sm_90", Budget(graphs_first=True))
    assert isinstance(verdict, Equal)
    assert verdict.proof.rung == "same cubin"


def test_with_graphs_first_what_only_speed_can_tell_apart_is_measured_as_without(gemm):
    pair = gemm("a_times_b"), gemm("a_times_b", align=4)
    assert compare(*pair, "sm_90", Budget(graphs_first=True)) == compare(*pair, "sm_90")


def test_at_any_speed_equal_results_are_enough(gemm):
    pair = gemm("a_times_b"), gemm("a_times_b", align=4)
    assert isinstance(compare(*pair, "sm_90"), Different)
    verdict = compare(*pair, "sm_1", Budget(any_speed=True))
    assert isinstance(verdict, Equal)
    assert "speed, which was not measured" in verdict.proof.text
    assert {each.severity for each in verdict.differences} == {"note"}


def test_at_any_speed_what_graphs_cannot_show_equal_is_decided_by_the_whole_ladder(gemm):
    pair = gemm("a_times_b"), gemm("b_times_a")
    assert compare(*pair, "sm_90", Budget(any_speed=True)) == compare(*pair, "sm_90")


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


def test_padding_that_one_compiler_ignores_is_equal_with_a_note(soak):
    """Another compiler version may tell the two apart, so the difference is not hushed up."""
    mutants = soak("tileir_mutants")
    bytecode = soak("tileir_kernels").exported("gemm")
    lost = mutants.valid(disassemble(bytecode).replace("padding_value = zero, ", ""), True)
    verdict = compare_sources(Source(text=disassemble(bytecode), bytecode=bytecode), lost, "sm_90")
    assert isinstance(verdict, Equal)
    assert verdict.proof.rung == "same cubin"
    assert {"padding"} <= {difference.kind for difference in verdict.differences}
    assert {difference.severity for difference in verdict.differences} == {"note"}


def test_damaged_bytecode_gives_a_verdict_and_never_an_exception(gemm):
    chance = random.Random(3)
    good = gemm("a_times_b")
    for _ in range(25):
        bad = bytearray(good)
        for _ in range(chance.choice([1, 2, 8])):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        verdict = compare(good, bytes(bad), None, Budget(seconds=0.2))
        assert verdict.verdict in ("equal", "different", "unknown")


@pytest.mark.parametrize(
    "text",
    [
        "entry @k() {\n  %x = constant <f32: 0.0> : tile<1099511627776xf32>\n  return\n}\n",
        "entry @k(%a: tile<i32>) {\n  %r = reduce %a dim=7 identities=[] : tile<i32> -> tile<i32> \n"
        "  (%x: tile<i32>, %y: tile<i32>) {\n  }\n  return\n}\n",
        "entry @k(%a: tile<i32>) {\n  %r = extract %a[%a] : tile<i32> -> tile<8xi32>\n  continue %r : tile<8xi32>\n}\n",
    ],
)
def test_text_no_verifier_would_pass_gives_a_verdict_and_never_an_exception(text):
    other = text.replace("@k(", "@k(%more: tile<f32>, ").replace(", )", ")")
    for a, b in ((text, text), (text, text.replace("return", "%z = iota : tile<4xi32>\n  return")), (text, other)):
        verdict = compare_sources(Source(text=a), Source(text=b), None, Budget(seconds=0.2))
        assert verdict.verdict in ("equal", "different", "unknown")


def _stored_at(offset: str) -> Source:
    return Source(
        text="entry @k(%arg0: tile<ptr<i32>>, %arg1: tile<i32>) {\n"
        "  %token = make_token : token\n"
        f"  {offset}\n"
        "  %p = offset %arg0, %o : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
        "  %v = constant <i32: 7> : tile<i32>\n"
        "  %t = store_ptr_tko weak %p, %v token=%token : tile<ptr<i32>>, tile<i32> -> token\n"
        "  return\n}\n"
    )


def test_an_argument_that_every_launch_fixes_is_the_number_the_reference_was_compiled_for():
    reference = _stored_at("%o = constant <i32: 3> : tile<i32>")
    told = _stored_at("%o = assume bounded<0, ?>, %arg1 : tile<i32>")
    assert not isinstance(compare_in(reference, told, Setting(arch=None)), Equal)
    verdict = compare_in(reference, told, Setting(arch=None, fixed={1: 3}))
    assert isinstance(verdict, Equal), verdict
    assert verdict.proof.while_true == ("the arguments, counted from 0, are as every launch has them: 1 is 3",)
    assert not isinstance(compare_in(reference, told, Setting(arch=None, fixed={1: 4})), Equal)


def test_a_promise_that_the_fixed_number_breaks_is_no_proof():
    reference = _stored_at("%o = constant <i32: 3> : tile<i32>")
    false = _stored_at("%o = assume div_by<4>, %arg1 : tile<i32>")
    assert not isinstance(compare_in(reference, false, Setting(arch=None, fixed={1: 3})), Equal)


def _rows(index: str, used: str) -> Source:
    return Source(
        text="entry @k(%arg0: tile<ptr<i32>>) {\n"
        "  %t = make_token : token\n"
        "  %x, %y, %z = get_tile_block_id : tile<i32>\n"
        "  %a, %b, %c = get_num_tile_blocks : tile<i32>\n"
        "  %end = constant <i32: 128> : tile<i32>\n"
        "  %for = for %i in (%x to %end, step %a) : tile<i32> iter_values(%k = %t) -> (token) {\n"
        f"{index}"
        f"    %p = offset %arg0, {used} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>\n"
        "    %v = constant <i32: 7> : tile<i32>\n"
        "    %n = store_ptr_tko weak %p, %v token=%k : tile<ptr<i32>>, tile<i32> -> token\n"
        "    continue %n : token\n"
        "  }\n  return\n}\n"
    )


@pytest.mark.parametrize(("most", "holds"), [(127, True), (126, False)])
def test_the_index_of_a_loop_that_blocks_share_is_below_its_end_and_never_negative(most: int, holds: bool):
    promised = _rows(f"    %j = assume bounded<0, {most}>, %i : tile<i32>\n", "%j")
    verdict = compare_sources(_rows("", "%i"), promised, None)
    assert isinstance(verdict, Equal) == holds, verdict
