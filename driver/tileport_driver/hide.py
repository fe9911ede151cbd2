"""What must go from the agent's tree: the operator's existing port, computed from the checkout itself.

Pure but for reading: `plan_hiding` says what goes, `apply_hiding` takes it out. Leaving a trace is an error of
ours, not of the agent, so a test file that still mentions the backend afterwards stops the attempt.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tileport_driver.records import Hidden
from tileport_skill.errors import MachineryError
from tileport_skill.tilegym.operators import PORT_BACKEND, Checkout, Operator
from tileport_skill.tilegym.port_files import port_files

_LineFinder = Callable[[str, str, str], set[int]]
"""(text, operator, path) -> the numbers of the lines that go, from 1."""
_BUILD_PRODUCTS = ("**/*.so", "**/Cargo.lock", "**/.build.lock", "**/__pycache__/**/*", "**/target/**/*")


@dataclass(frozen=True, slots=True)
class Edit:
    """One file's new text (`None`: the file goes), and the record of why."""

    hidden: Hidden
    text: str | None


def plan_hiding(checkout: Checkout, operator: Operator) -> tuple[Edit, ...]:
    """Every removal that hides the port of `operator`, sorted by path; empty where there is no port."""
    files = port_files(checkout, operator)
    edits = [
        Edit(Hidden(path=path, what="file", why="the existing port"), None)
        for path in files.new
        if (checkout.root / path).is_file()
    ]
    edits += _line_edits(checkout.root, files.library, "the library's module of the port", operator.name, library_lines)
    edits += _line_edits(
        checkout.root, files.registration, "the port's registration", operator.name, registration_lines
    )
    for path in operator.tests:
        edits += _line_edits(checkout.root, path, "the port's test parameters and skips", operator.name, test_lines)
    edits += [
        Edit(Hidden(path=path, what="build product", why="embeds or describes compiled ports"), None)
        for path in _build_products(checkout)
    ]
    return tuple(sorted(edits, key=lambda edit: edit.hidden.path))


def apply_hiding(root: Path, edits: tuple[Edit, ...]) -> tuple[Hidden, ...]:
    """Takes everything planned out of the tree at `root`, and empty folders with it."""
    for edit in edits:
        path = root / edit.hidden.path
        if edit.text is None:
            path.unlink()
            _remove_empty_parents(path.parent, root)
        else:
            path.write_text(edit.text, encoding="utf-8")
    return tuple(edit.hidden for edit in edits)


def _line_edits(root: Path, path: str, why: str, name: str, lines_of: _LineFinder) -> list[Edit]:
    file = root / path
    if not file.is_file():
        return []
    text = file.read_text(encoding="utf-8")
    drop = lines_of(text, name, path)
    if not drop:
        return []
    lines = text.splitlines(keepends=True)
    kept = "".join(line for number, line in enumerate(lines, 1) if number not in drop)
    removed = tuple(lines[number - 1].rstrip("\n") for number in sorted(drop))
    if path.endswith(".py"):
        _must_parse(kept, path)
    return [Edit(Hidden(path=path, what="lines", why=why, removed=removed), kept)]


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


def _must_parse(text: str, path: str) -> None:
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise MachineryError(
            f"{path}:{error.lineno} would not parse with the port's lines taken out; hide it by hand in a commit "
            "and give that commit with --base."
        ) from error


def _build_products(checkout: Checkout) -> list[str]:
    found = {path for pattern in _BUILD_PRODUCTS for path in checkout.port_dir.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(checkout.root).as_posix() for path in found)


def _remove_empty_parents(folder: Path, root: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
