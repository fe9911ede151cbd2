"""Branches whose condition the kernel itself fixes, replaced by the arm that runs.

cuTile Python decides them while it traces, cuTile Rust leaves them to the assembler: the same kernel, spelled twice.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping

from tileport_skill.tileir.records import Entry, Module, Op, Region, Value
from tileport_skill.tileir.types import Tile

NAME = "known branch"
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less_than": operator.lt,
    "less_than_or_equal": operator.le,
    "greater_than": operator.gt,
    "greater_than_or_equal": operator.ge,
}
_LEAVES = ("return", "continue", "break")


def settle(module: Module) -> Module:
    """`module` with every such branch replaced; the very same object where there is none."""
    items = tuple(_entry(item) if isinstance(item, Entry) else item for item in module.items)
    unlike = any(new is not old for new, old in zip(items, module.items, strict=True))
    return dataclasses.replace(module, items=items) if unlike else module


def _entry(entry: Entry) -> Entry:
    settler = _Settler()
    body = settler.region(entry.body)
    return dataclasses.replace(entry, body=body) if settler.replaced else entry


class _Settler:
    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}
        """Scalars that are one number; true is 1."""
        self.instead: dict[Value, Value] = {}
        self.replaced = 0

    def region(self, region: Region) -> Region:
        return dataclasses.replace(region, ops=tuple(self.ops(region)))

    def ops(self, region: Region) -> list[Op]:
        found: list[Op] = []
        for op in region.ops:
            arm = self.arm(op)
            if arm is None:
                found.append(self.op(op))
                continue
            self.replaced += 1
            inside = self.ops(arm)
            yielded = inside.pop().operands.get("operands", ()) if inside and inside[-1].name == "yield" else ()
            self.instead.update(zip(op.results, yielded, strict=True))
            found += inside
        return found

    def arm(self, op: Op) -> Region | None:
        """The arm that always runs, unless it leaves what stands around the branch."""
        known = self.numbers.get(self.of(op.operand("condition"))) if op.name == "if" else None
        if known is None:
            return None
        arm = op.regions[0] if known else (*op.regions, Region((), ()))[1]
        return None if arm.ops and arm.ops[-1].name in _LEAVES else arm

    def of(self, value: Value) -> Value:
        return self.instead.get(value, value)

    def op(self, op: Op) -> Op:
        operands = {name: tuple(self.of(value) for value in values) for name, values in op.operands.items()}
        settled = dataclasses.replace(op, operands=operands, regions=tuple(self.region(inner) for inner in op.regions))
        number = self.number(settled)
        if number is not None:
            self.numbers[op.result] = number
        return settled

    def number(self, op: Op) -> int | None:
        """What a scalar is, where the kernel fixes it."""
        if len(op.results) != 1 or not isinstance(op.result.type, Tile) or op.result.type.shape:
            return None
        if op.name == "constant":
            return _constant(op)
        if op.name not in ("cmpi", "andi", "ori", "xori"):
            return None
        left, right = (self.numbers.get(self.of(op.operand(name))) for name in ("lhs", "rhs"))
        if op.name == "cmpi":
            element = getattr(op.operand("lhs").type, "element", None)
            return None if left is None or right is None else holds(op.attributes, element == "i1", left, right)
        return together(op.name, left, right) if op.result.type.element == "i1" else None


def holds(comparison: Mapping[str, str], truths: bool, left: int, right: int) -> bool | None:
    """Whether a `cmpi` with these attributes holds of two signed numbers, or of two truths; None where it is open.

    Which is smaller is asked only of what has one reading: no truths, and below zero nothing without a sign.
    """
    predicate = comparison["comparison_predicate"]
    unlike = truths or (comparison["signedness"] != "signed" and min(left, right) < 0)
    return None if unlike and predicate not in ("equal", "not_equal") else _COMPARED[predicate](left, right)


def together(name: str, left: int | None, right: int | None) -> int | None:
    """`andi`, `ori` or `xori` of two truths, None where one is open; one that decides is enough."""
    deciding = {"andi": 0, "ori": 1}.get(name)
    if deciding is not None and deciding in (left, right):
        return deciding
    if left is None or right is None:
        return None
    return {"andi": left & right, "ori": left | right, "xori": left ^ right}[name]


def _constant(op: Op) -> int | None:
    text = op.attributes["value"].rpartition(": ")[2]
    if text in ("true", "false"):
        return int(text == "true")
    return int(text) if text.removeprefix("-").isdigit() else None
