"""Our own cases of operators: what they hand to the operator and to its plain reference is what both take."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tileport_skill

CASES = sorted((Path(tileport_skill.__file__).parent / "cases" / "tests" / "ops").glob("test_*.py"))


def checks(tree: ast.AST) -> list[ast.Call]:
    """Every `self.assertCorrectness(operator, reference, arguments, ...)`."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "assertCorrectness"]


def parameters(function: ast.expr, tree: ast.AST) -> set[str] | None:
    """By name; None for one that takes any."""
    if isinstance(function, ast.Name):
        found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function.id]
        assert len(found) == 1, f"{function.id} is not a function of the file"
        arguments = found[0].args
    else:
        assert isinstance(function, ast.Lambda), f"{ast.unparse(function)} may name its parameters otherwise"
        arguments = function.args
    return None if arguments.kwarg else {one.arg for one in (*arguments.args, *arguments.kwonlyargs)}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_reference_takes_the_arguments_by_the_names_they_are_handed_over_by(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in checks(tree):
        operator, reference, given = call.args[:3]
        if isinstance(given, ast.Name):
            (given,) = [
                n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == given.id
            ]
        assert isinstance(given, ast.Dict)
        names = {key.value for key in given.keys if isinstance(key, ast.Constant)}
        assert parameters(reference, tree) in (None, names)
        if isinstance(operator, ast.Lambda):
            assert parameters(operator, tree) in (None, names)
