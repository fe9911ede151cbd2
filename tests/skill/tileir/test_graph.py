# ruff: noqa: E501 - the kernels are spelled as tileirdisasm prints them
"""The graph rung: what means nothing leaves no trace, what counts does, and more promises are never equal."""

from __future__ import annotations

import pytest

from tileport_skill.tileir.ladder import Different, Equal, Source, Unknown, Verdict, compare_sources

KERNEL = """\
entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>, %arg2: tile<i32>, %arg3: tile<ptr<f32>>) {
  %t = make_token : token
  %p = assume div_by<16>, %arg0 : tile<ptr<f32>>
  %n = assume bounded<0, ?>, %arg1 : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %pv = make_partition_view %tv : partition_view<tile=(16x64), padding_value = zero, tensor_view<?x64xf32, strides=[64,1]>>
  %ov = make_tensor_view %arg3, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %ow = make_partition_view %ov : partition_view<tile=(16x64), tensor_view<?x64xf32, strides=[64,1]>>
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %acc = constant <f32: 0.000000e+00> : tile<16x64xf32>
  %big = constant <f32: 0xFF800000> : tile<16x64xf32>
  %for:2 = for %i in (%zero to %arg2, step %one) : tile<i32> iter_values(%a = %acc, %b = %big) -> (tile<16x64xf32>, tile<16x64xf32>) {
    %at = addi %bx, %i : tile<i32>
    %x, %xt = load_view_tko weak %pv[%at, %zero] token = %t : partition_view<tile=(16x64), padding_value = zero, tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<16x64xf32>, token
    %s = addf %a, %x  : tile<16x64xf32>
    %m = maxf %b, %x : tile<16x64xf32>
    continue %s, %m : tile<16x64xf32>, tile<16x64xf32>
  }
  %r = reduce %for#0 dim=1 identities=[0.000000e+00 : f32] : tile<16x64xf32> -> tile<16xf32> 
  (%l: tile<f32>, %h: tile<f32>) {
    %q = addf %l, %h  : tile<f32>
    yield %q : tile<f32>
  }
  %rr = reshape %r : tile<16xf32> -> tile<16x1xf32>
  %rb = broadcast %rr : tile<16x1xf32> -> tile<16x64xf32>
  %y = subf %rb, %for#1  : tile<16x64xf32>
  %c = cmpi less_than %bx, %arg2, signed : tile<i32> -> tile<i1>
  if %c {
    %u = store_view_tko weak %y, %ow[%bx, %zero] token = %t : tile<16x64xf32>, partition_view<tile=(16x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
  } else {
  }
  return
}
"""


def against(*edits: tuple[str, str]) -> Verdict:
    """Compares the kernel with itself after replacing text; each edit must find its text."""
    other = KERNEL
    for old, new in edits:
        assert old in other, old
        other = other.replace(old, new)
    return compare_sources(Source(text=KERNEL), Source(text=other), None)


SWAPPED_CARRIES = (
    ("%for:2 = for %i in (%zero to %arg2, step %one) : tile<i32> iter_values(%a = %acc, %b = %big)",
     "%for:2 = for %i in (%zero to %arg2, step %one) : tile<i32> iter_values(%b = %big, %a = %acc)"),
    ("continue %s, %m", "continue %m, %s"),
    ("reduce %for#0", "reduce %for#1 "),
    ("%rb, %for#1", "%rb, %for#0"),
    ("%for#1  dim", "%for#1 dim"),
)  # fmt: skip

NOTHING = {
    "commuted addition": (("addf %a, %x", "addf %x, %a"),),
    "commuted index": (("addi %bx, %i", "addi %i, %bx"),),
    "commuted combiner": (("addf %l, %h", "addf %h, %l"),),
    "renamed": (("%acc", "%start"), ("%for", "%loop")),
    "carried values in another order": SWAPPED_CARRIES,
    "dead code": (("  %c = cmpi", "  %dead = muli %one, %one : tile<i32>\n  %c = cmpi"),),
    "a constant twice": (
        ("    %at = addi", "    %z2 = constant <i32: 0> : tile<i32>\n    %at = addi"),
        ("%pv[%at, %zero]", "%pv[%at, %z2]"),
    ),
    "an assume at another place": (
        ("  %n = assume bounded<0, ?>, %arg1 : tile<i32>\n", ""),
        ("  %t = make_token", "  %n = assume bounded<0, ?>, %arg1 : tile<i32>\n  %t = make_token"),
    ),
    "two token roots": (
        ("  %r = reduce", "  %t2 = make_token : token\n  %r = reduce"),
        ("%ow[%bx, %zero] token = %t", "%ow[%bx, %zero] token = %t2"),
    ),
    "no token where it orders nothing": (("%ow[%bx, %zero] token = %t", "%ow[%bx, %zero]"),),
    "a block number twice": (
        ("  %c = cmpi", "  %bx2, %by2, %bz2 = get_tile_block_id : tile<i32>\n  %c = cmpi"),
        ("less_than %bx,", "less_than %bx2,"),
    ),
    "a promise that always holds": (
        ("    %at = addi", "    %i0 = assume bounded<0, ?>, %i : tile<i32>\n    %at = addi"),
    ),
    "padding of a view only stored through": (
        ("%ow = make_partition_view %ov : partition_view<tile=(16x64), tensor",
         "%ow = make_partition_view %ov : partition_view<tile=(16x64), padding_value = nan, tensor"),
        ("tile<16x64xf32>, partition_view<tile=(16x64), tensor",
         "tile<16x64xf32>, partition_view<tile=(16x64), padding_value = nan, tensor"),
    ),
    "an unchanging carried value": (
        ("iter_values(%a = %acc, %b = %big) -> (tile", "iter_values(%a = %acc, %b = %big, %k = %one) -> (tile"),
        ("%for:2", "%for:3"),
        ("-> (tile<16x64xf32>, tile<16x64xf32>) {", "-> (tile<16x64xf32>, tile<16x64xf32>, tile<i32>) {"),
        ("continue %s, %m : tile<16x64xf32>, tile<16x64xf32>",
         "continue %s, %m, %k : tile<16x64xf32>, tile<16x64xf32>, tile<i32>"),
    ),
}  # fmt: skip

SOMETHING = {
    "swapped operands": (("subf %rb, %for#1", "subf %for#1, %rb"),),
    "another result": (("subf %rb, %for#1", "subf %rb, %for#0"),),
    "another axis": (
        ("%pv[%at, %zero]", "%pv[%zero, %at]"),
    ),
    "another identity": (("identities=[0.0", "identities=[1.0"),),
    "another combiner": (("%q = addf", "%q = mulf"),),
    "padding": (("padding_value = zero", "padding_value = neg_inf"),),
    "loop start": (("(%zero to %arg2", "(%one to %arg2"),),
    "loop end": (("(%zero to %arg2", "(%zero to %arg1"),),
    "predicate": (("cmpi less_than %bx", "cmpi less_than_or_equal %bx"),),
    "signedness": (("%arg2, signed", "%arg2, unsigned"),),
    "rounding": (("addf %a, %x  :", "addf %a, %x rounding<zero> :"),),
    "flush to zero": (("addf %a, %x  :", "addf %a, %x  flush_to_zero :"),),
    "NaN rule": (("maxf %b, %x :", "maxf %b, %x propagate_nan :"),),
    "constant": (("constant <f32: 0xFF800000>", "constant <f32: 0xFF7FFFFF>"),),
    "a branch lost": (("if %c {", "%c2 = constant <i1: true> : tile<i1>\n  if %c2 {"),),
    "another pointer": (("make_tensor_view %arg3", "make_tensor_view %arg0"),),
    "carried values crossed": (("continue %s, %m", "continue %m, %s"),),
    "stride": (("strides = [64, 1]", "strides = [32, 1]"), ("strides=[64,1]", "strides=[32,1]")),
    "unsigned loop": (("for %i in", "for unsigned %i in"),),
    "a load more": (
        ("    %s = addf", "    %x2, %xt2 = load_view_tko weak %pv[%at, %zero] token = %t : partition_view<tile=(16x64), "
         "padding_value = zero, tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<16x64xf32>, token\n    %s = addf"),
    ),
    "ordered after the load": (
        ("%m = maxf %b, %x :", "%w = store_view_tko weak %x, %ow[%bx, %zero] token = %xt : tile<16x64xf32>, "
         "partition_view<tile=(16x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token\n"
         "    %m = maxf %b, %x :"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING)
def test_what_means_nothing_leaves_no_trace(name):
    verdict = against(*NOTHING[name])
    assert isinstance(verdict, Equal), verdict
    assert verdict.proof.rung == "same graph"


@pytest.mark.parametrize("name", SOMETHING)
def test_what_counts_is_never_equal_and_is_named(name):
    verdict = against(*SOMETHING[name])
    assert not isinstance(verdict, Equal)
    assert any(difference.severity == "wrong" for difference in verdict.differences)


def test_the_order_of_a_store_and_the_loads_before_it_counts():
    """Both kernels do the same two operations; only in one the token orders them."""
    store = (
        "    %w = store_view_tko weak %x, %ow[%bx, %zero] token = {} : tile<16x64xf32>, "
        "partition_view<tile=(16x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token\n    %s = addf"
    )
    ordered, free = (KERNEL.replace("    %s = addf", store.format(token)) for token in ("%xt", "%t"))
    assert not isinstance(compare_sources(Source(text=ordered), Source(text=free), None), Equal)
    assert isinstance(compare_sources(Source(text=ordered), Source(text=ordered + "\n"), None), Equal)


def test_what_stands_behind_an_early_return_is_not_what_stands_before_it():
    leave = "  if %c {\n    return\n  } else {\n  }\n"
    head, store, end = KERNEL.partition("  if %c {\n")
    body = "".join(end.partition("  } else {\n  }\n")[0])
    before = head + body.replace("    %u", "  %u") + leave + "  return\n}\n"
    behind = head + leave + body.replace("    %u", "  %u") + "  return\n}\n"
    assert store
    assert not isinstance(compare_sources(Source(text=before), Source(text=behind), None), Equal)


def test_a_stronger_promise_about_an_argument_is_different_with_a_value_that_breaks_it():
    verdict = against(("div_by<16>", "div_by<32>"))
    assert isinstance(verdict, Different)
    assert verdict.witness.kind == "promise"
    assert verdict.witness.inputs == "%arg0 = 16"
    assert verdict.differences[0].severity == "unsound"


def test_a_weaker_promise_costs_speed_only_and_nothing_was_measured():
    verdict = against(("div_by<16>", "div_by<8>"))
    assert isinstance(verdict, Unknown)
    assert {difference.severity for difference in verdict.differences} == {"slow"}


def test_a_promise_hoisted_out_of_its_branch_is_stronger():
    inside = KERNEL.replace("  if %c {\n", "  if %c {\n    %p2 = assume div_by<4>, %arg2 : tile<i32>\n")
    outside = KERNEL.replace("  if %c {\n", "  %p2 = assume div_by<4>, %arg2 : tile<i32>\n  if %c {\n")
    assert not isinstance(compare_sources(Source(text=inside), Source(text=outside), None), Equal)


def test_a_hint_lost_is_a_difference_of_speed():
    hinted = KERNEL.replace("token = %t :", "token = %t optimization_hints = <default = {latency = 3}> :", 1)
    verdict = compare_sources(Source(text=hinted), Source(text=KERNEL), None)
    assert isinstance(verdict, Unknown)
    assert {d.kind for d in verdict.differences} == {"hint"}


def test_weaker_promises_are_measured_where_both_assemble(gemm):
    from tileport_skill.tileir.ladder import compare

    verdict = compare(gemm("a_times_b"), gemm("a_times_b", align=4), "sm_90")
    assert isinstance(verdict, Different)
    assert verdict.witness.kind == "speed"
    assert "TMA Load" in verdict.witness.a
    assert "TMA Load" not in verdict.witness.b


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (KERNEL.replace("@k(", "@other("), "entry symbols differ"),
        (KERNEL + KERNEL.replace("@k(", "@k2("), "exactly one entry"),
        ("global  @g <i32: 0> : tile<1xi32>\n", "exactly one entry"),
        ("global  @g <i32: 0> : tile<1xi32>\n" + KERNEL, "global variables differ"),
        (KERNEL.replace("%arg2: tile<i32>", "%arg2: tile<i32>, %arg9: tile<i32>"), "different arguments"),
        (KERNEL.replace("maxf", "maxff"), "unknown operation `maxff`"),
    ],
)
def test_what_cannot_be_compared_is_unknown_and_says_why(text, says):
    verdict = compare_sources(Source(text=KERNEL), Source(text=text), None)
    assert isinstance(verdict, Unknown)
    assert says in verdict.reasons[0]
