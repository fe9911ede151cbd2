"""What a rule may ask of the key of any value, whatever made it."""

from __future__ import annotations

from tileport_skill.tileir.graph import build
from tileport_skill.tileir.numbering import Numbering
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.rewriting import attributes

KERNEL = """
entry @k(%n: tile<i32>, %p: tile<ptr<i32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %c = cmpi less_than %n, %zero, signed : tile<i32> -> tile<i1>
  if %c {
    return
  } else {
  }
  %u = store_ptr_tko weak %p, %n : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""


def test_attributes_are_those_of_operations_and_of_nothing_else() -> None:
    """Effects, branches, regions and whole kernels hold tuples in that place too."""
    (entry,) = parse(KERNEL).entries
    numbering = Numbering()
    build(entry, numbering)
    found = {key[0]: attributes(key) for key in numbering.keys if len(key) > 1}
    assert found["cmpi"] == {"comparison_predicate": "less_than", "signedness": "signed"}
    assert [found[name] for name in ("effect", "region", "entry")] == [{}, {}, {}]
