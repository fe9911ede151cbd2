"""Which lines of a shared file belong to one operator's port: module, registration, test parameters, skips. Pure."""

from __future__ import annotations

import ast
import re

from tileport_skill.errors import MachineryError
from tileport_skill.tilegym.operators import PORT_BACKEND


def library_lines(text: str, name: str, path: str) -> set[int]:
    """The `mod NAME { ... }` block of lib.rs, and the blank line that set it off."""
    lines = text.splitlines()
    drop: set[int] = set()
    inside = False
    for number, line in enumerate(lines, 1):
        if re.match(rf"(pub\s+)?mod\s+{re.escape(name)}\s*\{{", line):
            inside = True
            if number > 1 and not lines[number - 2].strip():
                drop.add(number - 1)
        if inside:
            drop.add(number)
            inside = not line.startswith("}")
    if inside:
        raise MachineryError(f"{path}: the module {name} is not closed; its port cannot be hidden. Format the file.")
    return drop


def registration_lines(text: str, name: str, path: str) -> set[int]:
    pattern = re.compile(rf"\s*(from\s+\.\s+import\s+{re.escape(name)}\b|from\s+\.{re.escape(name)}\s+import)")
    return {number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)}


def test_lines(text: str, name: str, path: str) -> set[int]:
    """Statements that stand under a condition on the port's backend: parameters and skips alike."""
    drop: set[int] = set()
    for node in ast.walk(ast.parse(text, filename=path)):
        if isinstance(node, ast.If) and PORT_BACKEND in ast.unparse(node.test) and not node.orelse:
            drop |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = text.splitlines()
    left = [n for n, line in enumerate(lines, 1) if n not in drop and f'"{PORT_BACKEND}"' in line]
    if left:
        raise MachineryError(
            f"{path}:{left[0]} mentions {PORT_BACKEND!r} outside an `if`; the port's test parameters cannot be "
            "hidden by program. Write them as `if is_backend_available(...)`, as TileGym's tests do."
        )
    return drop
