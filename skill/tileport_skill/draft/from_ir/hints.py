"""Which variable of the Python source a value is: by the place that cuTile notes for every operation."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from pathlib import Path

from tileport_skill.draft.from_ir.names import Hint, step
from tileport_skill.draft.from_ir.samples import Place, Sample
from tileport_skill.draft.naming import snake
from tileport_skill.draft.rust import word
from tileport_skill.tileir.records import Op, Value, walk
from tileport_skill.tileir.types import Token

Targets = Mapping[int, tuple[str, int, int]]
"""By line: the variable that a statement gives its value to, and where that value begins."""


def hints_of(sample: Sample) -> Hint:
    """Names for the results of `sample`'s operations."""
    last: dict[tuple[str, tuple[Place, ...]], Op] = {}
    for op in walk(sample.entry.body):
        found = _target(sample, op)
        if found is not None and found[1] and _has_value(op):
            last[found[0], sample.places[op.line]] = op
    named: dict[Value, str] = {}
    for (target, _), op in last.items():
        if len([one for one in op.results if not isinstance(one.type, Token)]) == 1:
            named[op.results[0]] = target
    _name_carried(sample, named)

    def hint(op: Op, value: Value) -> str | None:
        if value in named:
            return named[value]
        found = _target(sample, op)
        if found is None or isinstance(value.type, Token):
            return None
        return f"{found[0]}_{step(op, word('_'))}".replace("__", "_")

    return hint


def _has_value(op: Op) -> bool:
    return bool(op.results) and op.name not in ("constant", "assume", "make_partition_view", "make_tensor_view")


def _name_carried(sample: Sample, named: dict[Value, str]) -> None:
    """What a loop carries is the variable that its body hands on."""
    for op in walk(sample.entry.body):
        if op.name not in ("for", "loop") or not op.regions[0].ops:
            continue
        end = op.regions[0].ops[-1]
        inner = op.regions[0].arguments[1 if op.name == "for" else 0 :]
        for mine, handed in zip(inner, end.all_operands(), strict=False):
            if handed in named:
                named[mine] = named[handed]
        if op.name == "for" and (counter := _counter(sample, op)):
            named[op.regions[0].arguments[0]] = counter


def _target(sample: Sample, op: Op) -> tuple[str, bool] | None:
    """The variable that the operation helps to compute, and whether it is the whole of its value."""
    places = sample.places.get(op.line)
    if not places:
        return None
    found = _targets(places[0].file).get(places[0].line)
    if found is None:
        return None
    name, line, column = found
    return name, (places[0].line, places[0].column) == (line, column)


def _counter(sample: Sample, op: Op) -> str | None:
    places = sample.places.get(op.line)
    return _counters(places[0].file).get(places[0].line) if places else None


@functools.cache
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ast.Module(body=[], type_ignores=[])


@functools.cache
def _targets(file: str) -> Targets:
    found: dict[int, tuple[str, int, int]] = {}
    for node in ast.walk(_tree(file)):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    found[line] = (snake(name), value.lineno, value.col_offset)
            case ast.AugAssign(target=ast.Name(id=name)):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    found[line] = (snake(name), node.lineno, node.col_offset)
    return found


@functools.cache
def _counters(file: str) -> Mapping[int, str]:
    return {
        node.lineno: snake(node.target.id)
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
    }
