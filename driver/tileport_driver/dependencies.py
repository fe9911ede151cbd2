"""Operators in an order in which each comes after those whose reference it calls: `splitk_reduce` before decoding."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, Operator


def in_order(
    checkout: Checkout, operators: tuple[Operator, ...], everyone: tuple[Operator, ...]
) -> tuple[Operator, ...]:
    """`operators`, each after those of them that it needs, else by name. Raises `RequestError` for a circle."""
    needs = {operator.name: _needs(checkout, operator, everyone) for operator in everyone}
    wanted = {operator.name: operator for operator in operators}
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for name in sorted(needs):
        sorter.add(name, *sorted(needs[name]))
    try:
        names = list(_stable(sorter))
    except CycleError as circle:
        raise RequestError(f"These operators call each other in a circle: {' -> '.join(circle.args[1])}.") from circle
    return tuple(wanted[name] for name in names if name in wanted)


def _stable(sorter: TopologicalSorter[str]) -> list[str]:
    """Of those that are ready always the first by name, so that the order is the same on every machine."""
    sorter.prepare()
    ordered: list[str] = []
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()])
        name = ready.pop(0)
        ordered.append(name)
        sorter.done(name)
    return ordered


def _needs(checkout: Checkout, operator: Operator, everyone: tuple[Operator, ...]) -> set[str]:
    """Names of the operators whose modules the reference imports."""
    modules = {PurePosixPath(other.reference).stem: other.name for other in everyone if other.name != operator.name}
    tree = ast.parse((checkout.root / operator.reference).read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or "ops.cutile" in (node.module or "")):
            last = (node.module or "").rpartition(".")[2]
            found |= {last, *(alias.name for alias in node.names)} & modules.keys()
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.rpartition(".")[2] for alias in node.names if "ops.cutile" in alias.name
            } & modules.keys()
    return {modules[name] for name in found}
