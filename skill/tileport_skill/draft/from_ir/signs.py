"""Which integers of a kernel are unsigned. Tile IR's integers have no sign, its operations do; Rust's types have one.

Values that must be of one Rust type (operands of a sum, what a loop carries) are joined, and a class of values is
unsigned if only operations on unsigned numbers ask for a sign. Where both are asked for, it is signed and the writer
casts.
"""

from __future__ import annotations

from collections.abc import Sequence

from tileport_skill.tileir.records import Entry, Op, Region, Value
from tileport_skill.tileir.types import Tile

JOINED = frozenset({"addi", "subi", "muli", "andi", "ori", "xori", "shli"})
SIGNED_PAIRS = frozenset({"divi", "remi", "maxi", "mini", "shri"})
SAME_TYPE = frozenset({"reshape", "broadcast", "assume", "permute", "extract", "cat", "insert", "absi", "negi"})
ALWAYS_SIGNED = frozenset({"get_tile_block_id", "get_num_tile_blocks", "get_index_space_shape", "get_tensor_shape"})


class Signs:
    """Asked by value."""

    def __init__(self, entry: Entry) -> None:
        self._parent: dict[Value, Value] = {}
        self._wanted: dict[Value, set[bool]] = {}
        for argument in entry.arguments:
            self._want(argument, unsigned=False)
        self._read(entry.body, ())

    def unsigned(self, value: Value) -> bool:
        return self._wanted.get(self._find(value), set()) == {True}

    def _find(self, value: Value) -> Value:
        while (parent := self._parent.get(value, value)) is not value:
            value = parent
        return value

    def _join(self, *values: Value) -> None:
        first = self._find(values[0])
        for other in map(self._find, values[1:]):
            if other is not first:
                self._parent[other] = first
                self._wanted.setdefault(first, set()).update(self._wanted.pop(other, set()))

    def _want(self, value: Value, *, unsigned: bool) -> None:
        if isinstance(value.type, Tile):
            self._wanted.setdefault(self._find(value), set()).add(unsigned)

    def _read(self, region: Region, carried: Sequence[Value]) -> None:
        for op in region.ops:
            self._read_op(op, carried)

    def _read_op(self, op: Op, carried: Sequence[Value]) -> None:
        operands = list(op.all_operands())
        if op.name in JOINED or op.name in SAME_TYPE:
            self._join(op.result, *(one for one in operands if one.type == op.result.type or op.name in SAME_TYPE))
        elif op.name in SIGNED_PAIRS or op.name == "cmpi":
            self._compared(op, operands)
        elif op.name == "select":
            self._join(op.result, *operands[1:])
        elif op.name in ("exti", "itof"):
            self._want(operands[0], unsigned=_unsigned(op))
        elif op.name == "ftoi":
            self._want(op.result, unsigned=_unsigned(op))
        elif op.name in ALWAYS_SIGNED:
            for result in op.results:
                self._want(result, unsigned=False)
        elif op.name in ("load_view_tko", "store_view_tko"):
            for index in op.operands.get("index", ()):
                self._want(index, unsigned=False)
        else:
            self._read_regions(op, operands, carried)

    def _compared(self, op: Op, operands: Sequence[Value]) -> None:
        self._join(*operands)
        if op.name != "cmpi":
            self._join(op.result, operands[0])
        if op.attributes.get("comparison_predicate") not in ("equal", "not_equal"):
            self._want(operands[0], unsigned=_unsigned(op))

    def _read_regions(self, op: Op, operands: Sequence[Value], carried: Sequence[Value]) -> None:
        if op.name in ("for", "loop"):
            self._read_loop(op)
        elif op.name == "if":
            for region in op.regions:
                ends_loop = bool(region.ops) and region.ops[-1].name in ("break", "continue")
                self._read(region, carried if ends_loop else op.results)
        elif op.name in ("reduce", "scan"):
            for result, operand in zip(op.results, operands, strict=True):
                self._join(result, operand)
        elif op.name in ("yield", "continue", "break"):
            for mine, outer in zip(operands, carried, strict=False):
                self._join(mine, outer)

    def _read_loop(self, op: Op) -> None:
        initial = op.operands.get("initValues", ())
        inner = op.regions[0].arguments
        inner = inner[len(inner) - len(initial) :]
        for index, one in enumerate(initial):
            self._join(one, inner[index], *op.results[index : index + 1])
        if op.name == "for":
            counter = op.regions[0].arguments[0]
            self._join(counter, op.operand("lowerBound"))
            for name in ("lowerBound", "upperBound", "step"):
                self._want(op.operand(name), unsigned=False)
        self._read(op.regions[0], inner if op.name == "for" else (op.results or inner))


def _unsigned(op: Op) -> bool:
    return op.attributes.get("signedness") == "unsigned"
