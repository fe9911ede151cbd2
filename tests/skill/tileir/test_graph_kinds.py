# ruff: noqa: E501 - the edits are patterns of what tileirdisasm prints
"""Every kind of thing the graph rung must see, and must not, on kernels as cuTile Python exports them."""

from __future__ import annotations

import random
import re

import pytest

from tileport_skill.tileir.assemble import disassemble
from tileport_skill.tileir.ladder import Equal, Source, Verdict, compare_sources
from tileport_skill.tileir.search import Budget

V = r"%[\w#]+"

SEEN = {
    "tile shape": ("gemm", r"tile=\(16x32\)", "tile=(16x64)"),
    "index expression": ("gemm", r"\[%blockId_x, %loopIdx\]", "[%loopIdx, %blockId_x]"),
    "accumulator type": ("gemm", r"f16, (strides|tensor)", r"f16, \1", r"tile<16x16xf32>", "tile<16x16xf16>"),
    "loop step": ("persistent", r"step %gridSize_x", "step %cst_1_i32"),
    "grid use: block number": ("gemm", r"\[%blockId_x, %loopIdx\]", "[%blockId_z, %loopIdx]"),
    "grid use: number of blocks": ("persistent", r"step %gridSize_x", "step %gridSize_y"),
    "mask of a load": ("gated", rf"(load_ptr_tko weak {V}), {V}, {V} token=%0 : (tile<\S+>), tile<\S+>, tile<\S+> ->", r"\1 token=%0 : \2 ->"),
    "mask of a store": ("gated", rf"(store_ptr_tko weak {V}, {V}), {V}( token=%0 : tile<\S+>, tile<\S+>), tile<\S+> ->", r"\1\2 ->"),
    "padding of a masked load": ("gated", r"<f16: 0.000000e\+00>", "<f16: 1.000000e+00>"),
    "bound of a mask": ("gated", r"cmpi less_than (%9), %bcast_20, unsigned", r"cmpi less_than_or_equal \1, %bcast_20, unsigned"),
    "signedness of a mask": ("gated", r"cmpi less_than (%9), %bcast_20, unsigned", r"cmpi less_than \1, %bcast_20, signed"),
    "atomic mode": ("histogram", r"%14, add,", "%14, max,"),
    "atomic ordering": ("histogram", r"acq_rel device", "relaxed device"),
    "atomic scope": ("histogram", r"acq_rel device", "acq_rel sys"),
    "direction of a scan": ("running_sum", "reverse=false", "reverse=true"),
    "identity of a scan": ("running_sum", r"identities=\[0.000000e\+00", "identities=[1.000000e+00"),
    "NaN rule of a maximum": ("softmax", r"= maxf (%\w+), (%\w+) ", r"= maxf \1, \2 propagate_nan "),
    "missing cast": ("softmax", r"= ftof (%\w+)  : tile<1x64xf32> -> tile<1x64xf16>", r"= ftof \1 rounding<zero> : tile<1x64xf32> -> tile<1x64xf16>"),
    "approximation": ("softmax", r"= exp (%\w+)  :", r"= exp \1 rounding<approx> :"),
    "wrap promise": ("gated", r"= muli %blockId_y_11, %cst_32_i32 ", "= muli %blockId_y_11, %cst_32_i32 overflow<no_signed_wrap> "),
    "ordering of a load": ("gemm", r"load_view_tko weak %pview_23", "load_view_tko relaxed device %pview_23"),
    "cache latency of a load": ("gemm", r"(%blockId_x, %loopIdx\] token = %0)", r"\1 optimization_hints = <sm_90 = {latency = 7}>"),
    "TMA allowed": ("gemm", r"(%blockId_x, %loopIdx\] token = %0)", r"\1 optimization_hints = <sm_90 = {allow_tma = false}>"),
    "blocks in a cluster": ("gemm", r"optimization_hints=<default = \{\}>", "optimization_hints=<sm_90 = {num_cta_in_cga = 2}>"),
    "occupancy": ("gemm", r"optimization_hints=<default = \{\}>", "optimization_hints=<sm_90 = {occupancy = 2}>"),
    "weaker promise": ("gemm", r"div_by<16>, %arg0", "div_by<4>, %arg0"),
    "stronger promise": ("gemm", r"div_by<16>, %arg0", "div_by<128>, %arg0"),
}  # fmt: skip

FAMILY = (
    r"(?m)^    %tile, %result_token = load_view_tko .*$",
    "    %line = iota : tile<16x32xi32>\n    %result, %result_token = load_ptr_tko weak %p token=%0 : "
    "tile<16x32xptr<f16>> -> tile<16x32xf16>, token\n    %tile = reshape %result : tile<16x32xf16> -> tile<16x32xf16>",
)
"""A tile through pointers, not through a view; `%p` is made in front of the loop."""
POINTERS = (
    "%pr = reshape %assume : tile<ptr<f16>> -> tile<1x1xptr<f16>>\n"
    "  %p = broadcast %pr : tile<1x1xptr<f16>> -> tile<16x32xptr<f16>>\n  %for = for"
)


def texts(soak, name: str, *edits: tuple[str, str]) -> tuple[str, str]:
    """The kernel, and the same after replacing what each pattern finds, which it must."""
    text = disassemble(soak("tileir_kernels").exported(name))
    other = text
    for pattern, replacement in edits:
        other, count = re.subn(pattern, replacement, other)
        assert count, pattern
    return text, other


def against(a: str, b: str, arch: str | None = None) -> Verdict:
    return compare_sources(Source(text=a), Source(text=b), arch, Budget(seconds=0.01))


@pytest.mark.parametrize("kind", SEEN)
def test_the_graph_rung_sees(soak, kind):
    name, *rest = SEEN[kind]
    edits = list(zip(rest[::2], rest[1::2], strict=True))
    original, changed = texts(soak, name, *edits)
    assert original != changed
    verdict = against(original, changed, "sm_90")
    assert not isinstance(verdict, Equal) or verdict.proof.rung == "named rules", verdict
    assert verdict.differences


def test_what_the_graphs_showed_is_kept_where_a_kernel_cannot_be_run(soak):
    """Text that no verifier has seen: its product's shapes do not fit, which only running it finds."""
    name, *rest = SEEN["tile shape"]
    sides = texts(soak, name, (rest[0], rest[1]))
    verdict = compare_sources(*(Source(text=text) for text in sides), None, Budget(seconds=60.0))
    assert verdict.verdict == "unknown"
    assert any("not as the dialect has it" in reason for reason in verdict.reasons), verdict.reasons
    assert "type" in {each.kind for each in verdict.differences}


SQUARE = """\
entry @k(%arg0: tile<ptr<f32>>) {
  %tv = make_tensor_view %arg0, shape = [16, 16], strides = [16, 1] : tile<i32> -> tensor_view<16x16xf32, strides=[16,1]>
  %pv = make_partition_view %tv : partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>
  %z = constant <i32: 0> : tile<i32>
  %x, %t = load_view_tko weak %pv[%z, %z] : partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>, tile<i32> -> tile<16x16xf32>, token
  %r = reduce %x dim=1 identities=[0xFF800000 : f32] : tile<16x16xf32> -> tile<16xf32> 
  (%l: tile<f32>, %h: tile<f32>) {
    %q = maxf %l, %h : tile<f32>
    yield %q : tile<f32>
  }
  %a = reshape %r : tile<16xf32> -> tile<16x1xf32>
  %b = broadcast %a : tile<16x1xf32> -> tile<16x16xf32>
  %s = store_view_tko weak %b, %pv[%z, %z] token = %t : tile<16x16xf32>, partition_view<tile=(16x16), tensor_view<16x16xf32, strides=[16,1]>>, tile<i32> -> token
  return
}
"""


def test_the_graph_rung_sees_the_axis_of_a_reduction():
    verdict = compare_sources(Source(text=SQUARE), Source(text=SQUARE.replace("dim=1", "dim=0")), None)
    assert verdict.verdict == "different"
    assert [d.kind for d in verdict.differences] == ["axis"]


def test_the_graph_rung_sees_the_family_of_a_memory_operation(soak):
    original, changed = texts(soak, "gemm", FAMILY, ("%for = for", POINTERS))
    verdict = against(original, changed)
    assert not isinstance(verdict, Equal)
    assert any("load_view_tko" in str(d) or "load_ptr_tko" in str(d) for d in verdict.differences)


@pytest.mark.parametrize("edit", ["renamed", "commuted", "constants_repeated", "dead_code", "own_tokens", "reordered"])
@pytest.mark.parametrize("name", ["gemm", "gated", "histogram", "persistent", "softmax"])
def test_the_graph_rung_ignores(soak, name, edit):
    """What each edit does is in its name; `reordered` is the order of pure operations."""
    soak("tileir_edits")
    original, _ = texts(soak, name)
    changed = getattr(soak("tileir_same"), edit)(original, random.Random(5))
    verdict = against(original, changed)
    assert isinstance(verdict, Equal), verdict
    assert verdict.proof.rung == "same graph"


def test_a_latency_hint_the_compiler_ignores_is_equal_with_a_note(soak):
    """Latency on a store: same cubin, and the difference is not hushed up."""
    text, changed = texts(
        soak, "transpose", (r"(store_view_tko .* token = %0)", r"\1 optimization_hints = <sm_90 = {latency = 2}>")
    )
    mutants = soak("tileir_mutants")
    sides = [mutants.valid(each, True) for each in (text, changed)]
    verdict = compare_sources(*sides, "sm_90")
    if isinstance(verdict, Equal):
        assert verdict.proof.rung == "same cubin"
        assert {(d.kind, d.severity) for d in verdict.differences} == {("hint", "note")}
    else:
        assert verdict.verdict == "different"
        assert verdict.witness.kind == "speed"


STRONGER = {
    "store more strongly": ("gemm", r"store_view_tko weak", "store_view_tko relaxed device"),
    "atomic more widely": ("histogram", r"acq_rel device", "acq_rel sys"),
    "division more exactly": ("softmax", r"(= divf %\w+, %\w+) ( ?):", r"\1 rounding<approx> :"),
}


@pytest.mark.parametrize("name", STRONGER)
def test_a_port_may_ask_for_more_than_its_reference_but_not_for_less(soak, name):
    kernel, pattern, replacement = STRONGER[name]
    original, changed = texts(soak, kernel, (pattern, replacement))
    weak, strong = (changed, original) if "exactly" in name else (original, changed)
    more = against(weak, strong)
    assert {d.severity for d in more.differences} == {"slow"}, more
    less = against(strong, weak)
    assert less.verdict == "unknown"
    assert any("Not decided whether this can be seen" in reason for reason in less.reasons)
    assert {d.severity for d in less.differences} == {"wrong"}


def test_acquire_is_not_more_than_release_nor_less(soak):
    from tileport_skill.tileir.strength import Strength

    acquire, release = (Strength("memory ordering", (name, "device")) for name in ("acquire", "release"))
    assert not acquire.covers(release)
    assert not release.covers(acquire)
    assert Strength("memory ordering", ("acq_rel", "device")).covers(acquire)


def test_two_divisions_that_differ_in_exactness_alone_are_not_taken_for_one(soak):
    """Left out of the graph, their roundings could no longer be told apart, so nothing is said."""
    text = disassemble(soak("tileir_kernels").exported("softmax"))
    division = re.search(r"  (%\w+) = divf (%\w+, %\w+)  : (.*)\n", text)
    assert division is not None
    both = (
        f"  %exact = divf {division[2]}  : {division[3]}\n  %rough = divf {division[2]} rounding<approx> : {division[3]}\n"
        f"  {division[1]} = subf %exact, %rough  : {division[3]}\n"
    )
    one = text.replace(division[0], both)
    other = text.replace(division[0], both.replace("%exact, %rough", "%rough, %exact"))
    assert against(one, other).verdict != "equal"
