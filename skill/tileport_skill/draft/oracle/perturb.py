"""Specialisations that were never captured, asked about all the same: so that every branch of the source is read.

A kernel chooses by its constants. Where the captured launches never take a branch, the compiler is asked what it would
make of it: with truth values turned round, and numbers set to what the source compares them with.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Sequence

from tileport_skill.capture.records import Array, Constant, Specialisation

MOST = 64
"""How many more are asked for a kernel at most; a reading takes some hundredths of a second."""


def perturbed(specialisations: Sequence[Specialisation], trees: Iterable[ast.AST]) -> list[Specialisation]:
    """Up to `MOST` more than `specialisations`, which are all of one kernel."""
    compared = _compared(trees)
    found: dict[str, Specialisation] = {}
    waiting = _one_for_each_dtype(specialisations)
    while waiting and len(found) < MOST:
        one = waiting.pop(0)
        for parameter in one.parameters:
            if not isinstance(parameter, Constant):
                continue
            for text in _others(parameter, compared):
                changed = dataclasses.replace(parameter, text=text)
                key = _key(one, changed)
                if key not in found:
                    more = _with(one, changed, key)
                    found[key] = more
                    waiting.append(more)
    return list(found.values())[:MOST]


def _one_for_each_dtype(specialisations: Sequence[Specialisation]) -> list[Specialisation]:
    seen: dict[object, Specialisation] = {}
    for one in specialisations:
        seen.setdefault(tuple(p.dtype for p in one.parameters if isinstance(p, Array)), one)
    return list(seen.values())


def _compared(trees: Iterable[ast.AST]) -> dict[str, set[int | float]]:
    """The numbers that each name is compared with."""
    found: dict[str, set[int | float]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
                for other in node.comparators:
                    if isinstance(other, ast.Constant) and isinstance(other.value, (int, float)):
                        found.setdefault(node.left.id, set()).add(other.value)
    return found


def _others(parameter: Constant, compared: dict[str, set[int | float]]) -> list[str]:
    match parameter.type:
        case "bool":
            return ["False" if parameter.text == "True" else "True"]
        case "int":
            values = compared.get(parameter.name, set())
            near = {n for value in values for n in (int(value) - 1, int(value), int(value) + 1)}
            return [str(value) for value in sorted(near)]
        case "float":
            return [repr(float(value)) for value in sorted(compared.get(parameter.name, set()))]
    return []


def _key(one: Specialisation, changed: Constant) -> str:
    parts = [changed.text if p.name == changed.name else getattr(p, "text", "") for p in one.parameters]
    dtypes = [p.dtype for p in one.parameters if isinstance(p, Array)]
    return f"perturbed {' '.join(dtypes)} {' '.join(parts)}"


def _with(one: Specialisation, changed: Constant, key: str) -> Specialisation:
    parameters = tuple(changed if p.name == changed.name else p for p in one.parameters)
    return dataclasses.replace(one, parameters=parameters, id=key, ir=None)
