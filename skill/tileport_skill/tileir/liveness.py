"""Which values of a kernel matter: those an effect, a branch or a loop's end depends on."""

from __future__ import annotations

from tileport_skill.tileir.records import Entry, Op, Region, Value, walk

EFFECTS = frozenset(
    {
        "load_view_tko",
        "load_ptr_tko",
        "store_view_tko",
        "store_ptr_tko",
        "atomic_cas_tko",
        "atomic_rmw_tko",
        "atomic_red_view_tko",
        "print_tko",
        "assert",
        "alloca",
        "memory_fence_alias_tko",
        "gdc_launch_dependents_tko",
        "gdc_wait_tko",
    }
)
"""Kept whether or not their results are used. Loads are among them, for they can fault."""


def has_effect(op: Op) -> bool:
    """Whether `op`, or one inside it, does more than compute."""
    if op.name in EFFECTS:
        return True
    return any(inner.name in EFFECTS for region in op.regions for inner in walk(region))


def exits(op: Op) -> bool:
    """Whether what stands behind `op` may not be reached: a break, continue or return inside."""
    if op.name == "if":
        return any(_leaves(region) for region in op.regions)
    return op.name in ("for", "loop") and any(_returns(region) for region in op.regions)


def _leaves(region: Region) -> bool:
    for op in region.ops:
        if op.name in ("return", "continue", "break"):
            return True
        if op.name == "if" and any(_leaves(inner) for inner in op.regions):
            return True
        if op.name in ("for", "loop") and any(_returns(inner) for inner in op.regions):
            return True
    return False


def _returns(region: Region) -> bool:
    return any(op.name == "return" for op in walk(region))


def live_values(entry: Entry) -> set[Value]:
    """Every value whose number can matter."""
    marker = _Marker()
    marker.index(entry.body, None)
    marker.roots(entry.body)
    return marker.run()


def unchanged(op: Op) -> frozenset[int]:
    """The carried values, by place, that every `continue` of the loop `op` hands on as they are."""
    arguments = op.regions[0].arguments
    carried = arguments[1:] if op.name == "for" else arguments
    found = set(range(len(carried)))

    def visit(region: Region) -> None:
        for inner in region.ops:
            if inner.name == "continue":
                operands = inner.operands.get("operands", ())
                found.intersection_update(s for s, v in enumerate(operands) if v is carried[s])
            elif inner.name == "if":
                for each in inner.regions:
                    visit(each)

    visit(op.regions[0])
    return frozenset(found)


class _Marker:
    def __init__(self) -> None:
        self.needs: dict[Value, list[Value]] = {}
        self.pending: list[Value] = []

    def index(self, region: Region, loop: Op | None) -> None:
        """Notes what each value is computed from."""
        for op in region.ops:
            if op.name == "continue" and loop is not None:
                self._feed(loop, op)
            elif op.name == "break" and loop is not None:
                for result, operand in zip(loop.results, op.operands.get("operands", ()), strict=False):
                    self.needs.setdefault(result, []).append(operand)
            elif op.name in ("for", "loop"):
                self._loop(op)
                self.index(op.regions[0], op)
            elif op.name == "if":
                self._if(op)
                for inner in op.regions:
                    self.index(inner, loop)
            else:
                operands = list(op.all_operands())
                for inner in op.regions:  # reduce and scan: the combiner belongs to the operation
                    operands += [used for each in walk(inner) for used in each.all_operands()]
                for result in op.results:
                    self.needs[result] = operands

    def _feed(self, loop: Op, op: Op) -> None:
        carried = loop.regions[0].arguments[1 if loop.name == "for" else 0 :]
        for slot, (argument, operand) in enumerate(zip(carried, op.operands.get("operands", ()), strict=False)):
            self.needs.setdefault(argument, []).append(operand)
            if loop.name == "for":
                self.needs.setdefault(loop.results[slot], []).append(operand)

    def _loop(self, op: Op) -> None:
        arguments = op.regions[0].arguments
        initial = op.operands.get("initValues", ())
        if op.name == "for":
            bounds = [op.operand(name) for name in ("lowerBound", "upperBound", "step")]
            self.needs[arguments[0]] = bounds
            arguments = arguments[1:]
            for result, value in zip(op.results, initial, strict=True):
                self.needs.setdefault(result, []).extend([value, *bounds])
        for argument, value in zip(arguments, initial, strict=True):
            self.needs.setdefault(argument, []).append(value)

    def _if(self, op: Op) -> None:
        for region in op.regions:
            last = region.ops[-1] if region.ops else None
            if last is not None and last.name == "yield":
                for result, operand in zip(op.results, last.operands.get("operands", ()), strict=False):
                    self.needs.setdefault(result, [op.operand("condition")]).append(operand)

    def roots(self, region: Region) -> None:
        """Marks what effects and control flow use."""
        for op in region.ops:
            if op.name in EFFECTS or op.name in ("if", "return"):
                self.pending.extend(op.all_operands())
            elif op.name == "for":
                self.pending.extend(op.operand(name) for name in ("lowerBound", "upperBound", "step"))
            if op.name in ("for", "loop", "if"):
                for inner in op.regions:
                    self.roots(inner)

    def run(self) -> set[Value]:
        live: set[Value] = set()
        while self.pending:
            value = self.pending.pop()
            if value not in live:
                live.add(value)
                self.pending.extend(self.needs.get(value, ()))
        return live
