"""Nothing outgrows a reader: modules have at most 400 lines, functions at most 60, a module a docstring. And commands
start without the heaviest libraries."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for folder in ("bot", "driver", "skill") for path in (ROOT / folder).rglob("*.py"))

MODULE_LINES = 400
FUNCTION_LINES = 60


def over_budget(text: str) -> list[str]:
    """What is wrong with one module's source, a line each."""
    tree = ast.parse(text)
    found = [] if ast.get_docstring(tree) or not text.strip() else ["no docstring at its head"]
    if (lines := text.count("\n")) > MODULE_LINES:
        found.append(f"{lines} lines")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if (length := (node.end_lineno or first) - first + 1) > FUNCTION_LINES:
                found.append(f"{node.name}: {length} lines")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_module_keeps_to_the_budget(path: Path) -> None:
    assert over_budget(path.read_text(encoding="utf-8")) == []


def test_the_budget_finds_what_is_over_it() -> None:
    long_function = '"""x"""\n@f(\n)\ndef g():\n' + "    pass\n" * 58
    assert over_budget(long_function) == ["g: 61 lines"]
    assert over_budget(long_function.replace("    pass\n", "", 1)) == []
    assert over_budget("") == []
    assert over_budget("x = 1\n" * 401) == ["no docstring at its head", "401 lines"]
    assert SOURCES


@pytest.mark.parametrize("command", ["tileport_bot", "tileport_driver", "tileport_skill"])
def test_a_command_starts_without_what_takes_seconds_to_import(command: str) -> None:
    program = f"import sys, {command}.__main__; print(*sorted({{'torch', 'anthropic'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
