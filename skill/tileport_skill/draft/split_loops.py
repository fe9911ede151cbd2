"""Loops that the compiler splits in two, where a condition on the index changes: written as the two loops.

    for j in range(start, stop):            for j in start..min(stop, first) { … }
        …                                   if ALWAYS {
        if ALWAYS and j >= first:     ──▶       for j in max(start, first)..stop { …, with the branch taken }
            …                               }

What the kernel's constants say beside the comparison decides whether there is anything to split.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tileport_skill.draft import rust
from tileport_skill.draft.body import Body
from tileport_skill.draft.coerce import as_scalar
from tileport_skill.draft.derived import settled
from tileport_skill.draft.expressions import translate, truth
from tileport_skill.draft.rust import Expr, call, word
from tileport_skill.draft.values import Number, Untranslatable

FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.GtE: ast.LtE, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.Lt: ast.Gt}
TAKEN_FIRST = (ast.LtE, ast.Lt)
"""Comparisons that hold in the first loop; the others hold in the second."""
BEHIND = (ast.Gt, ast.LtE)
"""Comparisons that change behind the number compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How one loop is divided."""

    branch: ast.If
    """The statement in the loop whose condition changes."""
    always: Expr | None
    """What the kernel's constants must say for there to be two loops; None if nothing."""
    first_stop: Expr
    second_start: Expr
    taken_first: bool
    """Whether the branch is taken in the first loop; else in the second."""


def split_of(body: Body, loop: ast.For, index: str, start: Number, stop: Number) -> Split:
    """Writes what both loops need before them. Raises `Untranslatable` if the source does not show the place."""
    found = [
        (statement, *parts)
        for statement in loop.body
        if isinstance(statement, ast.If) and (parts := _parts(statement.test, index))
    ]
    if len(found) != 1:
        raise Untranslatable("a loop that the compiler splits in two where a condition on its index changes")
    branch, operator, bound, others = found[0]
    fixed = [settled(body, truth(body, other)) for other in others]
    if any(one.origin is None for one in fixed):
        raise Untranslatable(f"the condition `{ast.unparse(branch.test)[:60]}`")
    at = as_scalar(body, translate(body, bound), "i32")
    if operator in BEHIND:
        at = Number(expr=rust.Binary("+", at.expr, word("1")), dtype="i32")
    always = None
    for one in fixed:
        if one.literal is not True:
            always = one.expr if always is None else rust.Binary("&&", always, one.expr)
    split = word(body.free(f"{index}_split"))
    body.emit(rust.Let((split.text,), at.expr))
    begin, end = body.named_number(f"{index}_start", start), body.named_number(f"{index}_stop", stop)
    least: Expr = call("min", end, split)
    if always is not None:
        least = rust.If(always, rust.Block((), least), rust.Block((), end))
    first_stop, second_start = word(body.free(f"{index}_first_stop")), word(body.free(f"{index}_second_start"))
    body.emit(rust.Let((first_stop.text,), least, "i32"))
    body.emit(rust.Let((second_start.text,), call("max", begin, split)))
    return Split(
        branch=branch,
        always=always,
        first_stop=first_stop,
        second_start=second_start,
        taken_first=operator in TAKEN_FIRST,
    )


def _parts(test: ast.expr, index: str) -> tuple[type[ast.cmpop], ast.expr, list[ast.expr]] | None:
    """The comparison of the index, what it is compared with, and the conditions beside it."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        match part:
            case ast.Compare(left=ast.Name(id=name), ops=[operator], comparators=[bound]) if name == index:
                kind = type(operator)
            case ast.Compare(left=bound, ops=[operator], comparators=[ast.Name(id=name)]) if name == index:
                kind = FLIPPED.get(type(operator), type(operator))
            case _:
                continue
        if kind in FLIPPED:
            return kind, bound, [other for other in parts if other is not part]
    return None
