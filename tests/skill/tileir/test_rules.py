"""Each rewrite rule by itself: what it makes equal, and that it is true, by proof or by running both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import z3

from tileport_skill.tileir.interpret import run
from tileport_skill.tileir.ladder import Equal, Source, compare_sources
from tileport_skill.tileir.launch import Buffer, Launch
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.rules import EXACT, IN_RANGE, OVER_REALS

BITS = 32
x, y = z3.BitVecs("x y", BITS)
p = z3.Bool("p")


@dataclass(frozen=True)
class Case:
    """`before` and `after` define `%r` from `%x`, `%y` (tiles of 8) and, for proofs, what they mean."""

    element: str
    before: str
    after: str
    proof: object = None
    """An equation for z3; None where running both sides is the check."""


TILE = {"i32": "tile<8xi32>", "f32": "tile<8xf32>", "f16": "tile<8xf16>"}


def integer(before: str, after: str, proof: object = None) -> Case:
    return Case("i32", before, after, proof)


def constant(name: str, value: object, element: str = "i32") -> str:
    return f"%{name} = constant <{element}: {value}> : {TILE[element]}\n"


def rounded_up(power: int):
    """What the rule says of division by a power of two: rounded down, and towards zero where nothing is negative."""
    by, more = 2**power, z3.If(x & (2**power - 1) == 0, z3.BitVecVal(0, BITS), z3.BitVecVal(1, BITS))
    down = z3.Implies(x <= 2**31 - by, (x + (by - 1)) >> power == (x >> power) + more)
    return z3.And(down, z3.Implies(z3.And(x >= 0, x <= 2**31 - by), (x + (by - 1)) / by == x / by + more))


SPREAD = (
    "%ka = reshape %k : tile<i32> -> tile<1xi32>\n%kb = broadcast %ka : tile<1xi32> -> tile<8xi32>\n"
    "%r = addi %x, %kb : tile<8xi32>"
)
"""Puts the number `%k` to use."""


CASES = {
    "reshape or broadcast twice": integer(
        "%a = reshape %x : tile<8xi32> -> tile<2x4xi32>\n%b = reshape %a : tile<2x4xi32> -> tile<4x2xi32>\n"
        "%r = reshape %b : tile<4x2xi32> -> tile<8xi32>",
        "%r = addi %x, %n0 : tile<8xi32>",
    ),
    "reshaped constant": integer(
        "%a = constant <i32: 7> : tile<i32>\n%b = reshape %a : tile<i32> -> tile<1xi32>\n"
        "%c = broadcast %b : tile<1xi32> -> tile<8xi32>\n%r = addi %x, %c : tile<8xi32>",
        constant("c", 7) + "%r = addi %x, %c : tile<8xi32>",
    ),
    "permute twice": integer(
        "%a = reshape %x : tile<8xi32> -> tile<2x4x1xi32>\n"
        "%b = permute %a [1, 2, 0] : tile<2x4x1xi32> -> tile<4x1x2xi32>\n"
        "%c = permute %b [2, 1, 0] : tile<4x1x2xi32> -> tile<2x1x4xi32>\n"
        "%r = reshape %c : tile<2x1x4xi32> -> tile<8xi32>",
        "%a = reshape %x : tile<8xi32> -> tile<2x4x1xi32>\n"
        "%b = permute %a [0, 2, 1] : tile<2x4x1xi32> -> tile<2x1x4xi32>\n"
        "%r = reshape %b : tile<2x1x4xi32> -> tile<8xi32>",
    ),
    "x < x": integer(
        "%c = cmpi not_equal %x, %x, signed : tile<8xi32> -> tile<8xi1>\n"
        "%r = select %c, %y, %x : tile<8xi1>, tile<8xi32>",
        "%c = constant <i1: false> : tile<8xi1>\n%r = select %c, %y, %x : tile<8xi1>, tile<8xi32>",
        z3.If(x != x, y, x) == x,
    ),
    "x + 0": integer("%r = addi %x, %n0 : tile<8xi32>", "%r = ori %x, %n0 : tile<8xi32>", x + 0 == x | 0),
    "x - 0": integer("%r = subi %x, %n0 : tile<8xi32>", "%r = addi %x, %n0 : tile<8xi32>", x - 0 == x),
    "x * 1": integer("%r = muli %n1, %x : tile<8xi32>", "%r = addi %x, %n0 : tile<8xi32>", x * 1 == x),
    "x / 1": integer("%r = divi %x, %n1 signed : tile<8xi32>", "%r = addi %x, %n0 : tile<8xi32>", x / 1 == x),
    "x | 0": integer("%r = ori %n0, %x : tile<8xi32>", "%r = addi %x, %n0 : tile<8xi32>", x | 0 == x),
    "x ^ 0": integer("%r = xori %x, %n0 : tile<8xi32>", "%r = addi %x, %n0 : tile<8xi32>", x ^ 0 == x),
    "x << 0": integer("%r = shli %x, %n0 : tile<8xi32>", "%r = addi %x, %n0 : tile<8xi32>", x << 0 == x),
    "x >> 0": integer(
        "%r = shri %x, %n0 signed : tile<8xi32>", "%r = addi %x, %n0 : tile<8xi32>", x >> 0 == x
    ),
    "x op x": integer(
        "%a = andi %x, %x : tile<8xi32>\n%r = maxi %a, %x signed : tile<8xi32>",
        "%r = addi %x, %n0 : tile<8xi32>",
        z3.And(x & x == x, x | x == x),
    ),
    "x - c": integer(
        constant("c", 5) + "%r = subi %x, %c : tile<8xi32>",
        constant("c", -5) + "%r = addi %x, %c : tile<8xi32>",
        x - y == x + -y,
    ),
    "constants": integer(
        constant("a", 2147483647) + constant("b", 3) + "%c = muli %a, %b : tile<8xi32>\n%r = addi %x, %c : tile<8xi32>",
        constant("c", 2147483645) + "%r = addi %x, %c : tile<8xi32>",
    ),
    "constants together": integer(
        constant("c", 3) + constant("d", 4) + "%a = addi %x, %c : tile<8xi32>\n%r = addi %d, %a : tile<8xi32>",
        constant("c", 7) + "%r = addi %x, %c : tile<8xi32>",
        z3.And((x + 3) + 4 == x + 7, (x * 3) * 4 == x * 12),
    ),
    "x << c": integer(
        constant("c", 3) + "%r = shli %x, %c : tile<8xi32>",
        constant("c", 8) + "%r = muli %x, %c : tile<8xi32>",
        x << 3 == x * 8,
    ),
    "converted constant": Case(
        "f32",
        "%a = constant <f32: 1.33333337> : tile<8xf32>\n%b = ftof %a  : tile<8xf32> -> tile<8xf16>\n"
        "%c = ftof %b  : tile<8xf16> -> tile<8xf32>\n%r = mulf %x, %c  : tile<8xf32>",
        constant("c", "1.33300781", "f32") + "%r = mulf %x, %c  : tile<8xf32>",
    ),
    "whole number": Case(
        "f32",
        "%a = constant <i32: 4096> : tile<8xi32>\n%c = itof %a signed  : tile<8xi32> -> tile<8xf32>\n"
        "%r = mulf %x, %c  : tile<8xf32>",
        constant("c", "4.096000e+03", "f32") + "%r = mulf %x, %c  : tile<8xf32>",
    ),
    "widened constant": Case(
        "i32",
        "%a = constant <i8: -7> : tile<8xi8>\n%c = exti %a signed : tile<8xi8> -> tile<8xi32>\n"
        "%r = muli %x, %c : tile<8xi32>",
        constant("c", "-7", "i32") + "%r = muli %x, %c : tile<8xi32>",
    ),
    "bits of a constant": Case(
        "f32",
        "%a = constant <i32: 1068149419> : tile<8xi32>\n%c = bitcast %a : tile<8xi32> -> tile<8xf32>\n"
        "%r = mulf %x, %c  : tile<8xf32>",
        constant("c", "1.33333337", "f32") + "%r = mulf %x, %c  : tile<8xf32>",
    ),
    "sum of one constant": Case(
        "f32",
        "%a = constant <f32: 0.000000e+00> : tile<1xf32>\n"
        "%b = reduce %a dim=0 identities=[0.000000e+00 : f32] : tile<1xf32> -> tile<f32> \n"
        "(%lhs: tile<f32>, %rhs: tile<f32>) {\n%s = addf %lhs, %rhs  : tile<f32>\nyield %s : tile<f32>\n}\n"
        "%d = reshape %b : tile<f32> -> tile<1xf32>\n%c = broadcast %d : tile<1xf32> -> tile<8xf32>\n"
        "%r = addf %x, %c  : tile<8xf32>",
        constant("c", "0.000000e+00", "f32") + "%r = addf %x, %c  : tile<8xf32>",
    ),
    "a > b": integer(
        "%c = cmpi greater_than %x, %y, unsigned : tile<8xi32> -> tile<8xi1>\n"
        "%r = select %c, %x, %n1 : tile<8xi1>, tile<8xi32>",
        "%c = cmpi less_than %y, %x, unsigned : tile<8xi32> -> tile<8xi1>\n"
        "%r = select %c, %x, %n1 : tile<8xi1>, tile<8xi32>",
        z3.And((x > y) == (y < x), (x >= y) == (y <= x), z3.UGT(x, y) == z3.ULT(y, x), (x == y) == (y == x)),
    ),
    "not": integer(
        "%t = constant <i1: true> : tile<8xi1>\n"
        "%a = cmpi less_than %x, %y, signed : tile<8xi32> -> tile<8xi1>\n%b = xori %a, %t : tile<8xi1>\n"
        "%r = select %b, %x, %y : tile<8xi1>, tile<8xi32>",
        "%b = cmpi greater_than_or_equal %x, %y, signed : tile<8xi32> -> tile<8xi1>\n"
        "%r = select %b, %x, %y : tile<8xi1>, tile<8xi32>",
        z3.And(z3.Not(x < y) == (x >= y), z3.Not(x > y) == (x <= y), z3.Not(x == y) == (x != y),
               z3.Not(z3.ULT(x, y)) == z3.UGE(x, y), z3.Not(z3.Not(p)) == p),
    ),
    "compared constants": integer(
        "%c = cmpi less_than %n1, %n0, signed : tile<8xi32> -> tile<8xi1>\n%d = cmpi equal %n1, %n1, unsigned : "
        "tile<8xi32> -> tile<8xi1>\n%e = cmpi not_equal %c, %d, unsigned : tile<8xi1> -> tile<8xi1>\n"
        "%r = select %e, %x, %y : tile<8xi1>, tile<8xi32>",
        "%e = constant <i1: true> : tile<8xi1>\n%r = select %e, %x, %y : tile<8xi1>, tile<8xi32>",
    ),
    "x & true": integer(
        "%t = constant <i1: true> : tile<8xi1>\n%f = constant <i1: false> : tile<8xi1>\n"
        "%c = cmpi less_than %x, %y, signed : tile<8xi32> -> tile<8xi1>\n%a = andi %c, %t : tile<8xi1>\n"
        "%b = ori %f, %a : tile<8xi1>\n%d = xori %b, %f : tile<8xi1>\n"
        "%r = select %d, %x, %y : tile<8xi1>, tile<8xi32>",
        "%c = cmpi less_than %x, %y, signed : tile<8xi32> -> tile<8xi1>\n"
        "%r = select %c, %x, %y : tile<8xi1>, tile<8xi32>",
        z3.And(z3.And(p, True) == p, z3.Or(p, False) == p, z3.Xor(p, False) == p),
    ),
    "select": integer(
        "%t = constant <i1: true> : tile<8xi1>\n%a = trunci %x : tile<8xi32> -> tile<8xi1>\n"
        "%b = xori %a, %t : tile<8xi1>\n%r = select %b, %x, %y : tile<8xi1>, tile<8xi32>",
        "%a = trunci %x : tile<8xi32> -> tile<8xi1>\n%r = select %a, %y, %x : tile<8xi1>, tile<8xi32>",
        z3.And(z3.If(z3.Not(p), x, y) == z3.If(p, y, x), z3.If(p, x, x) == x),
    ),
    "extend twice": integer(
        "%a = trunci %x : tile<8xi32> -> tile<8xi8>\n%b = exti %a signed : tile<8xi8> -> tile<8xi16>\n"
        "%r = exti %b signed : tile<8xi16> -> tile<8xi32>",
        "%a = trunci %x : tile<8xi32> -> tile<8xi8>\n%r = exti %a signed : tile<8xi8> -> tile<8xi32>",
        z3.And(
            z3.SignExt(16, z3.SignExt(8, z3.Extract(7, 0, x))) == z3.SignExt(24, z3.Extract(7, 0, x)),
            z3.ZeroExt(16, z3.ZeroExt(8, z3.Extract(7, 0, x))) == z3.ZeroExt(24, z3.Extract(7, 0, x)),
        ),
    ),
    "unsigned comparison": integer(
        "%b = exti %at signed : tile<8xi32> -> tile<8xi64>\n%d = constant <i64: 5> : tile<8xi64>\n"
        "%c = cmpi less_than %b, %d, unsigned : tile<8xi64> -> tile<8xi1>\n"
        "%r = select %c, %x, %y : tile<8xi1>, tile<8xi32>",
        "%b = exti %at signed : tile<8xi32> -> tile<8xi64>\n%d = constant <i64: 5> : tile<8xi64>\n"
        "%c = cmpi less_than %b, %d, signed : tile<8xi64> -> tile<8xi1>\n"
        "%r = select %c, %x, %y : tile<8xi1>, tile<8xi32>",
        z3.Implies(z3.And(x >= 0, y >= 0), z3.And(z3.ULT(x, y) == (x < y), z3.ULE(x, y) == (x <= y))),
    ),
    "branch as choice": integer(
        "%g, %gy, %gz = get_tile_block_id : tile<i32>\n%d = constant <i32: 1> : tile<i32>\n"
        "%c = cmpi equal %g, %d, signed : tile<i32> -> tile<i1>\n"
        "%k = if %c -> (tile<i32>) {\n  %f = addi %g, %d : tile<i32>\n  yield %f : tile<i32>\n} else {\n"
        "  yield %d : tile<i32>\n}\n" + SPREAD,
        "%g, %gy, %gz = get_tile_block_id : tile<i32>\n%d = constant <i32: 1> : tile<i32>\n"
        "%c = cmpi equal %g, %d, signed : tile<i32> -> tile<i1>\n%f = addi %g, %d : tile<i32>\n"
        "%k = select %c, %f, %d : tile<i1>, tile<i32>\n" + SPREAD,
    ),
    "choice as minimum": integer(
        "%c = cmpi less_than %x, %y, signed : tile<8xi32> -> tile<8xi1>\n"
        "%a = select %c, %x, %y : tile<8xi1>, tile<8xi32>\n"
        "%e = cmpi less_than_or_equal %a, %n1, unsigned : tile<8xi32> -> tile<8xi1>\n"
        "%r = select %e, %n1, %a : tile<8xi1>, tile<8xi32>",
        "%a = mini %x, %y signed : tile<8xi32>\n%r = maxi %a, %n1 unsigned : tile<8xi32>",
        z3.And(z3.If(x < y, x, y) == z3.If(x <= y, x, y), z3.If(x < y, y, x) == z3.If(x > y, x, y),
               z3.If(z3.ULE(x, y), y, x) == z3.If(z3.UGT(x, y), x, y)),
    ),
    "division rounded up": integer(
        constant("m", 15) + constant("c", 16) + "%h = andi %x, %big : tile<8xi32>\n%a = addi %h, %m : tile<8xi32>\n"
        "%r = divi %a, %c signed rounding<negative_inf> : tile<8xi32>",
        constant("c", 16) + "%h = andi %x, %big : tile<8xi32>\n"
        "%r = divi %h, %c signed rounding<positive_inf> : tile<8xi32>",
        z3.And(*(rounded_up(n) for n in range(1, 31))),
    ),
    "x * 1.0": Case(
        "f32",
        constant("c", "1.000000e+00", "f32") + "%r = mulf %c, %x  : tile<8xf32>",
        "%a = negf %x : tile<8xf32>\n%r = negf %a : tile<8xf32>",
    ),
    "-(-x)": Case(
        "f32",
        "%a = negf %x : tile<8xf32>\n%b = negf %a : tile<8xf32>\n%r = addf %b, %y  : tile<8xf32>",
        "%r = addf %x, %y  : tile<8xf32>",
    ),
    "a - b": Case(
        "f32",
        "%r = subf %x, %y  : tile<8xf32>",
        "%a = negf %y : tile<8xf32>\n%r = addf %a, %x  : tile<8xf32>",
    ),
    "exp by exp2": Case(
        "f32",
        "%r = exp %x  : tile<8xf32>",
        constant("c", "1.44269502", "f32") + "%a = mulf %x, %c  : tile<8xf32>\n%r = exp2 %a : tile<8xf32>",
    ),
    "fused multiply-add": Case(
        "f32",
        "%r = fma %x, %y, %x  : tile<8xf32>",
        "%a = mulf %x, %y  : tile<8xf32>\n%r = addf %a, %x  : tile<8xf32>",
    ),
}  # fmt: skip


def kernel(case: Case, body: str) -> str:
    tile = TILE[case.element]
    pointer = f"ptr<{case.element}>"
    numbers = "".join(constant(name, value) for name, value in (("n0", 0), ("n1", 1), ("big", 2**30 - 1)))
    moves = ""
    for name in "xyr":
        moves += (
            f"%{name}p = reshape %{name}0 : tile<{pointer}> -> tile<1x{pointer}>\n"
            f"%{name}q = broadcast %{name}p : tile<1x{pointer}> -> tile<8x{pointer}>\n"
            f"%{name}s = offset %{name}q, %at : tile<8x{pointer}>, tile<8xi32> -> tile<8x{pointer}>\n"
        )
    load = "".join(f"%{n}, %{n}t = load_ptr_tko weak %{n}s : tile<8x{pointer}> -> {tile}, token\n" for n in "xy")
    arguments = ", ".join(f"%{name}0: tile<{pointer}>" for name in "xyr")
    return (
        f"entry @k({arguments}) {{\n%at = iota : tile<8xi32>\n{numbers}{moves}{load}{body}\n"
        f"%done = store_ptr_tko weak %rs, %r : tile<8x{pointer}>, {tile} -> token\nreturn\n}}\n"
    )


def test_every_rule_has_a_case_and_every_case_a_rule():
    assert {rule.name for rule in (*EXACT, *IN_RANGE, *OVER_REALS)} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_proves_its_case_and_says_so(name):
    case = CASES[name]
    sides = [Source(text=kernel(case, body)) for body in (case.before, case.after)]
    verdict = compare_sources(sides[0], sides[1], None)
    assert isinstance(verdict, Equal)
    assert verdict.proof.rung == "named rules"
    assert name in verdict.proof.rules
    assert bool(verdict.proof.while_true) == any(rule.name == name for rule in IN_RANGE)
    assert verdict.proof.over_reals == any(rule.name == name for rule in OVER_REALS)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.proof is not None])
def test_an_integer_rule_is_proved_for_every_value(name):
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.add(z3.Not(CASES[name].proof))
    assert solver.check() == z3.unsat


@pytest.mark.parametrize("name", CASES)
def test_both_sides_of_a_rule_give_the_same_results(name):
    case = CASES[name]
    numbers = np.random.default_rng(1)
    for _ in range(50):
        if case.element == "i32":
            data = [numbers.integers(-(2**31), 2**31, 8).astype(np.int32) for _ in range(3)]
        else:
            data = [numbers.choice([0.0, -0.0, np.inf, -np.inf, 1e-40, 1.5, -3.25, 7e4], 8).astype(np.float32)
                    for _ in range(3)]  # fmt: skip
        results = []
        for body in (case.before, case.after):
            (entry,) = parse(kernel(case, body)).entries
            buffers = tuple(Buffer(f"b{i}", each) for i, each in enumerate(data))
            outcome = run(entry, Launch((1, 1, 1), buffers))
            assert not outcome.findings
            results.append(outcome.buffers[2].data)
        if any(rule.name == name for rule in OVER_REALS):
            assert np.allclose(*results, rtol=1e-5, equal_nan=True)
        else:
            assert np.array_equal(*results, equal_nan=case.element != "i32")
            assert np.array_equal(*(np.signbit(r[~np.isnan(r)]) for r in results))


def test_a_rule_that_holds_within_a_range_says_which_and_fails_beyond_it():
    """Without the mask, a size near 2^31 tells the two apart."""
    case = CASES["division rounded up"]
    beyond = [body.replace("%big", "%x") for body in (case.before, case.after)]
    results = []
    for body in beyond:
        (entry,) = parse(kernel(case, body)).entries
        buffers = tuple(Buffer(name, np.full(8, 2**31 - 1, np.int32)) for name in "xyr")
        results.append(run(entry, Launch((1, 1, 1), buffers)).buffers[2].data)
    assert not np.array_equal(*results)
    verdict = compare_sources(*(Source(text=kernel(case, body)) for body in beyond), None)
    assert isinstance(verdict, Equal)
    assert verdict.proof.while_true == ("no size plus a tile's size reaches 2^31",)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("unsigned comparison", "exti %at signed", "exti %x signed"),  # may be negative
        ("branch as choice", "equal %g, %d", "equal %xe, %d"),  # read from memory, so it may be unspecified
        ("division rounded up", "<i32: 15>", "<i32: 14>"),
        ("choice as minimum", "mini", "maxi"),
    ],
)
def test_a_rule_does_not_reach_further_than_it_holds(name, old, new):
    read = "%xf = extract %x[%zero] : tile<8xi32> -> tile<1xi32>\n%xe = reshape %xf : tile<1xi32> -> tile<i32>\n"
    zero = "%zero = constant <i32: 0> : tile<i32>\n" + read
    case = CASES[name]
    sides = [Source(text=kernel(case, zero + body.replace(old, new))) for body in (case.before, case.after)]
    assert not isinstance(compare_sources(*sides, None), Equal)
