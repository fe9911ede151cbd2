"""A branch that the kernel itself decides is the arm that runs; one that it does not stays."""

from __future__ import annotations

import numpy as np
import pytest

from tileport_skill.tileir.interpret import run
from tileport_skill.tileir.known_branches import settle
from tileport_skill.tileir.ladder import Equal, Source, compare_sources
from tileport_skill.tileir.launch import Buffer, Launch
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.printing import print_module
from tileport_skill.tileir.records import Module, walk

KERNEL = """
entry @k(%out: tile<ptr<i32>>, %side: tile<ptr<i32>>, %n: tile<i32>) {{
  %one = constant <i32: 1> : tile<i32>
  %minus = constant <i32: -1> : tile<i32>
  %true = constant <i1: true> : tile<i1>
  %false = constant <i1: false> : tile<i1>
  %open = cmpi equal %n, %one, signed : tile<i32> -> tile<i1>
  {condition}
  %r = if %c -> (tile<i32>) {{
    %a = addi %n, %one : tile<i32>
    %s = store_ptr_tko weak %side, %one : tile<ptr<i32>>, tile<i32> -> token
    yield %a : tile<i32>
  }} else {{
    yield %n : tile<i32>
  }}
  {body}
}}
"""
STORE = "%done = store_ptr_tko weak %out, %r : tile<ptr<i32>>, tile<i32> -> token\n  return"


def kernel(condition: str, body: str = STORE) -> Module:
    return parse(KERNEL.format(condition=f"%c = {condition} : tile<i1>", body=body))


def branches(module: Module) -> int:
    return sum(op.name == "if" for op in walk(module.entries[0].body))


def stored(module: Module, n: int) -> list[int]:
    """What lies in both buffers then."""
    out, side = (Buffer(name, np.zeros(1, np.int32)) for name in ("out", "side"))
    outcome = run(module.entries[0], Launch((1, 1, 1), (out, side, n)))
    assert not outcome.findings
    return [int(written.data[0]) for written in outcome.buffers]


KNOWN = [
    "constant <i1: true>",
    "constant <i1: false>",
    "ori %open, %true",
    "andi %false, %open",
    "xori %true, %true",
    "cmpi equal %true, %false, unsigned : tile<i1> -> tile<i1>\n  %d = andi %c, %c",
    "cmpi less_than %minus, %one, signed : tile<i32> -> tile<i1>\n  %d = andi %c, %c",
    "cmpi not_equal %minus, %one, unsigned : tile<i32> -> tile<i1>\n  %d = andi %c, %c",
]
OPEN = [
    "andi %open, %true",
    "ori %open, %false",
    "xori %open, %true",
    "cmpi less_than %minus, %one, unsigned : tile<i32> -> tile<i1>\n  %d = andi %c, %c",
    "cmpi less_than %true, %false, signed : tile<i1> -> tile<i1>\n  %d = andi %c, %c",
]


@pytest.mark.parametrize("condition", KNOWN)
def test_a_known_branch_goes_and_the_kernel_does_what_it_did(condition: str) -> None:
    module = kernel(condition)
    settled = settle(module)
    assert (branches(module), branches(settled)) == (1, 0)
    assert [stored(settled, n) for n in (1, 7)] == [stored(module, n) for n in (1, 7)]
    parse(print_module(settled))


@pytest.mark.parametrize("condition", OPEN)
def test_an_open_branch_stays_and_the_module_is_the_same_object(condition: str) -> None:
    module = kernel(condition)
    assert settle(module) is module


def test_what_follows_from_a_known_branch_is_known_too() -> None:
    inner = (
        "%e = if %true -> (tile<i1>) {\n    yield %false : tile<i1>\n  } else {\n    yield %open : tile<i1>\n  }\n"
        "  if %e {\n    %s = store_ptr_tko weak %side, %n : tile<ptr<i32>>, tile<i32> -> token\n  }\n  " + STORE
    )
    module = kernel("constant <i1: false>", inner)
    settled = settle(module)
    assert (branches(module), branches(settled)) == (3, 0)
    assert stored(settled, 7) == stored(module, 7) == [7, 0]


def test_an_arm_that_leaves_what_stands_around_it_stays() -> None:
    module = kernel("constant <i1: false>", f"if %true {{\n    return\n  }}\n  {STORE}")
    assert branches(settle(module)) == 1


def test_a_proof_that_rests_on_it_says_so() -> None:
    plain = KERNEL.partition("  %r = if")[0].format(condition="%r = addi %n, %one : tile<i32>")
    first = "%s = store_ptr_tko weak %side, %one : tile<ptr<i32>>, tile<i32> -> token\n  "
    sides = [print_module(kernel("constant <i1: true>")), plain + first + STORE + "\n}\n"]
    verdict = compare_sources(*(Source(text=text) for text in sides), None)
    assert isinstance(verdict, Equal)
    assert verdict.proof.rules == ("known branch",)
    wrong = [print_module(kernel("constant <i1: false>")), sides[1]]
    assert not isinstance(compare_sources(*(Source(text=text) for text in wrong), None), Equal)
