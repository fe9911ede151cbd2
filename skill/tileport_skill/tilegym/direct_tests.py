"""Tests that are given a backend and yet call the reference's module by name: they would pass whatever a port does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tileport_skill.tilegym.operators import PORT_BACKEND

REFERENCES = "tilegym.ops.cutile"
_GIVEN = frozenset({"backend", "framework"})
"""What TileGym calls the parameter that a list of backends is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectCall:
    """One such call."""

    line: int
    name: str
    """What is called, dotted."""
    test: str


def direct_calls(module: ast.Module, scope: ast.AST | None = None) -> Iterator[DirectCall]:
    """Those of a test file, or of one of its classes. A helper that calls the reference counts as the reference.

    A test whose backends are written out beside it, the port's not among them, is never given the port.
    """
    direct = _names(module)
    for function in ast.walk(scope or module):
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test") and _given(function):
            for name, line in _calls(function, direct):
                yield DirectCall(line=line, name=name, test=function.name)


def _names(module: ast.Module) -> frozenset[str]:
    """Names that stand for something of the reference's modules: imported, or functions of the file that use them."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(module)
        if (isinstance(node, ast.ImportFrom) and _is_reference(node.module or ""))
        or (isinstance(node, ast.Import) and any(alias.asname and _is_reference(alias.name) for alias in node.names))
        for alias in node.names
    }
    helpers = [n for n in ast.walk(module) if isinstance(n, ast.FunctionDef) and not n.name.startswith("test")]
    found = frozenset(names)
    while True:
        more = found | {helper.name for helper in helpers if any(_calls(helper, found))}
        if more == found:
            return found
        found = more


def _is_reference(module: str) -> bool:
    return f"{module}.".startswith(f"{REFERENCES}.")


def _calls(function: ast.FunctionDef, direct: frozenset[str]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            continue
        dotted = ast.unparse(node.func)
        root, _, rest = dotted.partition(".")
        if dotted.startswith(f"{REFERENCES}.") or root in direct or (root in {"self", "cls"} and rest in direct):
            yield dotted, node.lineno


def _given(function: ast.FunctionDef) -> bool:
    wanted = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)} & _GIVEN
    return bool(wanted) and not any(_fixed(decorator, wanted) for decorator in function.decorator_list)


def _fixed(decorator: ast.expr, wanted: set[str]) -> bool:
    match decorator:
        case ast.Call(
            func=ast.Attribute(attr="parametrize"),
            args=[ast.Constant(value=name), ast.List(elts=values) | ast.Tuple(elts=values), *_],
        ):
            literal = all(isinstance(value, ast.Constant) and value.value != PORT_BACKEND for value in values)
            return name in wanted and literal
    return False
