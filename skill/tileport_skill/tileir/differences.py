"""What is not the same in two graphs, each difference at the operation where it starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tileport_skill.tileir.dataflow import Graph, Promise
from tileport_skill.tileir.facts import Fact
from tileport_skill.tileir.hints import hints_for
from tileport_skill.tileir.implied import implied, sizes_of
from tileport_skill.tileir.numbering import Numbering
from tileport_skill.tileir.records import Entry, Module, Op, Value
from tileport_skill.tileir.verdicts import Difference, Line, Severity

MOST = 50
"""So many differences are listed; a wrong first line makes everything behind it differ."""

_KINDS = {
    "rounding_mode": "rounding",
    "rounding": "rounding",
    "flush_to_zero": "flush to zero",
    "comparison_predicate": "predicate",
    "comparison_ordering": "predicate",
    "dim": "axis",
    "identities": "identity",
    "permutation": "axis",
    "memory_ordering_semantics": "memory ordering",
    "memory_scope": "memory scope",
    "mode": "atomic mode",
    "signedness": "signedness",
    "overflow": "overflow promise",
    "value": "constant",
    "unsignedCmp": "loop bounds",
    "propagate_nan": "NaN rule",
    "fast_acc": "accumulator",
}


@dataclass(frozen=True, slots=True)
class Side:
    """One kernel of a comparison."""

    module: Module
    entry: Entry
    graph: Graph

    def line(self, number: int) -> Line:
        return Line(number=number, text=self.module.lines[number - 1].strip())


def structural(a: Side, b: Side) -> list[Difference]:
    """Operations of one side that the other has no equal of, where their operands still do."""
    ours, theirs = _starts(a, b), _starts(b, a)
    found = []
    for mine in ours:
        partner = _partner(mine, theirs)
        if partner is not None:
            theirs.remove(partner)
            kind, text = _describe(mine, partner)
            found.append(_difference(kind, "wrong", text, a, mine, b, partner))
        else:
            found.append(_difference("missing", "wrong", f"only the first side has this {mine.name}", a, mine))
    for other in theirs:
        text = f"only the second side has this {other.name}"
        found.append(_difference("extra", "wrong", text, None, None, b, other))
    return sorted(found, key=lambda d: (d.a or d.b or Line(number=0, text="")).number)[:MOST]


def _starts(a: Side, b: Side) -> list[Op]:
    """The operations of `a` without an equal in `b`, but for those that only use such ones."""
    counts = Counter(b.graph.numbers.values())
    alone: list[Op] = []
    differing: set[Value] = set()
    for op, number in a.graph.numbers.items():
        counts[number] -= 1
        if number not in b.graph.ops:
            if not op.regions and not any(value in differing for value in op.all_operands()):
                alone.append(op)
            differing.update(op.results)
    return alone or [op for op, number in a.graph.numbers.items() if number not in b.graph.ops][:1]


def _partner(op: Op, others: list[Op]) -> Op | None:
    """The operation of `others` most like `op`: same name, then same types, then nearest."""
    alike = [other for other in others if other.name == op.name]
    if not alike:
        alike = [other for other in others if _types(other) == _types(op) and len(op.results) > 0]
    return min(alike, key=lambda other: (_types(other) != _types(op), abs(other.line - op.line)), default=None)


def _types(op: Op) -> tuple[str, ...]:
    return tuple(str(result.type) for result in op.results)


def _describe(a: Op, b: Op) -> tuple[str, str]:
    if a.name != b.name:
        return "operation", f"{a.name} on one side, {b.name} on the other"
    for name in sorted({*a.attributes, *b.attributes}):
        ours, theirs = a.attributes.get(name, "default"), b.attributes.get(name, "default")
        if ours != theirs and not ours.startswith("%"):
            return _KINDS.get(name, name.replace("_", " ")), f"{name} is {ours} and {theirs}"
    if _types(a) != _types(b):
        return "type", f"{a.name} makes {', '.join(_types(a))} and {', '.join(_types(b))}"
    for name, values in a.operands.items():
        given = [str(v.type) for v in values], [str(v.type) for v in b.operands.get(name, ())]
        if given[0] != given[1]:
            kind = "padding" if "padding_value" in "".join(given[0] + given[1]) else "type"
            return kind, f"{name} is {', '.join(given[0]) or 'absent'} and {', '.join(given[1]) or 'absent'}"
    return "operands", f"the operands of {a.name} come from elsewhere, or are ordered otherwise"


def _difference(
    kind: str,
    severity: Severity,
    text: str,
    a: Side | None,
    mine: Op | None,
    b: Side | None = None,
    other: Op | None = None,
) -> Difference:
    return Difference(
        kind=kind,
        severity=severity,
        text=text,
        a=a.line(mine.line) if a and mine else None,
        b=b.line(other.line) if b and other else None,
    )


def less_promised(a: Side, b: Side, numbering: Numbering) -> list[Difference]:
    """What the reference promises and the port does not: that costs speed."""
    return [
        Difference(
            kind="assume",
            severity="slow",
            text=f"only the first side promises: {promise.fact}",
            a=a.line(promise.op.line),
        )
        for promise in uncovered(a, b, numbering, anywhere=True)
    ]


def promised(side: Side, promises: Iterable[Promise], severity: Severity) -> list[Difference]:
    """What only the second side promises: unsound unless its host checks it, and then worth a note."""
    end = {"unsound": "the host must check it"}.get(severity, "its host checks it")
    return [
        Difference(
            kind="assume",
            severity=severity,
            text=f"only the second side promises: {promise.fact}; {end}",
            b=side.line(promise.op.line),
        )
        for promise in promises
    ]


def strengths(a: Side, b: Side) -> list[Difference]:
    """Where two loose graphs that are equal ask differently: `slow` where the second asks for more, else `wrong`."""
    found = []
    for number in sorted(a.graph.strengths.keys() | b.graph.strengths.keys()):
        ours, theirs = a.graph.strengths.get(number, set()), b.graph.strengths.get(number, set())
        if ours == theirs and len(ours) == 1:
            continue
        alone = len(ours) == len(theirs) == 1
        covered = alone and next(iter(theirs)).covers(next(iter(ours)))
        first, second = (", ".join(sorted(map(str, side))) for side in (ours, theirs))
        kind = next(iter(ours | theirs)).kind
        text = f"{kind} is {first} on the first side and {second} on the second"
        op_a, op_b = a.graph.ops.get(number), b.graph.ops.get(number)
        found.append(_difference(kind, "slow" if covered else "wrong", text, a, op_a, b, op_b))
    return found


def uncovered(of: Side, by: Side, numbering: Numbering, *, anywhere: bool) -> list[Promise]:
    """The promises of one side that the other does not make, each once.

    Unless `anywhere`, the other must make them wherever the first does: not only inside a branch.
    """
    made: dict[int, list[Promise]] = {}
    for promise in by.graph.promises:
        made.setdefault(promise.subject, []).append(promise)
    sizes = sizes_of(numbering, by.graph.ops)
    found: dict[tuple[int, Fact], Promise] = {}
    for promise in of.graph.promises:
        covered = implied(numbering, promise.subject, promise.fact, sizes) or any(
            other.fact.implies(promise.fact) and (anywhere or promise.path[: len(other.path)] == other.path)
            for other in made.get(promise.subject, ())
        )
        if not covered:
            found.setdefault((promise.subject, promise.fact), promise)
    return list(found.values())[:MOST]


def hints(a: Side, b: Side, arch: str | None) -> list[Difference]:
    """Hints that differ for `arch`, or for any architecture if there is none."""
    found = []
    for where in [arch] if arch else ["default", "sm_80", "sm_90", "sm_100", "sm_120"]:
        ours, theirs = hints_for(a.entry.hints, where), hints_for(b.entry.hints, where)
        if ours != theirs:
            text = f"hints of the kernel for {where}: {_spell(ours)} and {_spell(theirs)}"
            found.append(
                Difference(kind="hint", severity="slow", text=text, a=a.line(a.entry.line), b=b.line(b.entry.line))
            )
        mine = {number: (hints_for(text, where), op) for number, text, op in a.graph.hints}
        other = {number: (hints_for(text, where), op) for number, text, op in b.graph.hints}
        for number in sorted({*mine, *other}):
            left, op_a = mine.get(number, ({}, a.graph.ops.get(number)))
            right, op_b = other.get(number, ({}, b.graph.ops.get(number)))
            if left != right:
                text = f"hints for {where}: {_spell(left)} and {_spell(right)}"
                found.append(_difference("hint", "slow", text, a, op_a, b, op_b))
    return found[:MOST]


def _spell(hints: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(hints.items())) or "none"
