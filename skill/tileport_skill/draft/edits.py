"""The three edits of a port, in TileGym's own style: the crate's module, the package's import, the tests' backends.

Each takes a file's text and gives the new one. A file that is not as TileGym writes it is refused, never rewritten.
"""

from __future__ import annotations

import ast
import re

from tileport_skill.errors import RequestError
from tileport_skill.tilegym.direct_tests import direct_calls
from tileport_skill.tilegym.operators import PORT_BACKEND

MODULE = re.compile(r"^mod (\w+) \{$", re.MULTILINE)
IMPORT = re.compile(r"^(\s*)from \. import (\w+)\b.*$")
AVAILABLE = "is_backend_available"


def with_module(text: str, operator: str, path: str) -> str:
    """The crate's `lib.rs` with the operator's module: in order of names if the others are, else at the end."""
    names = MODULE.findall(text)
    if operator in names:
        raise RequestError(f"{path} has a module {operator} already. Remove the port that is there first.")
    block = (
        f"mod {operator} {{\n"
        f'    include!("../../{operator}_kernel/kernel.rs");\n'
        f'    include!("../../{operator}_kernel/ffi.rs");\n'
        "}\n"
    )
    later = next((name for name in names if name > operator), None)
    if later is not None and names == sorted(names):
        return text.replace(f"mod {later} {{\n", f"{block}\nmod {later} {{\n", 1)
    return f"{text.rstrip()}\n\n{block}"


def with_registration(text: str, operator: str, path: str) -> str:
    """The package's `__init__.py` with the operator's import where its name belongs among the others."""
    lines = text.splitlines()
    found = [(number, match) for number, line in enumerate(lines) if (match := IMPORT.match(line))]
    if any(match[2] == operator for _, match in found):
        raise RequestError(f"{path} imports {operator} already. Remove the port that is there first.")
    if found:
        indent = found[0][1][1]
        place = next((number for number, match in found if match[2] > operator), found[-1][0] + 1)
    else:
        guards = [number for number, line in enumerate(lines) if _is_guard(line)]
        if len(guards) != 1:
            raise RequestError(f'{path} has no `if {AVAILABLE}("{PORT_BACKEND}"):` that the import could go under.')
        indent, place = "    ", guards[0] + 1
    lines.insert(place, f"{indent}from . import {operator}  # noqa: F401  (register dispatch entry)")
    return "\n".join(lines) + "\n"


def _is_guard(line: str) -> bool:
    return line.strip() == f'if {AVAILABLE}("{PORT_BACKEND}"):'


def with_backend(text: str, path: str) -> str:
    """A test file whose lists of backends, of classes and of the module, hold the port's too where it is available.

    A list that has it already (a file that several operators share) is left alone.
    """
    tree = ast.parse(text, filename=path)
    direct = next(direct_calls(tree), None)
    if direct is not None:
        raise RequestError(
            f"{path}:{direct.line}, `{direct.test}`, calls the reference's module itself ({direct.name}), whatever the "
            "backend: a port's tests would pass without the port. Let it call what tilegym.ops dispatches."
        )
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    found = [place for body in bodies for place in _lists(body)]
    if not found:
        raise RequestError(f'{path} has no list `..._backends = ["cutile", ...]` that the port could be added to.')
    places = [place for place in found if place is not None]
    lines = text.splitlines()
    for last, name, indent in sorted(places, reverse=True):
        lines[last:last] = [
            f'{indent}if {AVAILABLE}("{PORT_BACKEND}"):',
            f'{indent}    {name} = {name} + ["{PORT_BACKEND}"]',
        ]
    if places and not _imports_it(tree):
        froms = [n for n, line in enumerate(lines) if re.match(r"from tilegym\b", line)]
        plain = [n + 1 for n, line in enumerate(lines) if line == "import tilegym"]
        first = next(iter([*froms, *plain]), None)
        if first is None:
            raise RequestError(f"{path} imports nothing from tilegym; import {AVAILABLE} from tilegym.backend there.")
        lines.insert(first, f"from tilegym.backend import {AVAILABLE}")
    return "\n".join(lines) + "\n"


def _lists(body: list[ast.stmt]) -> list[tuple[int, str, str] | None]:
    """Each list of backends: the line after which an addition goes, its name, its indentation; None if it is there."""
    found: list[tuple[int, str, str] | None] = []
    for index, node in enumerate(body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[ast.Constant(value="cutile"), *_])) if (
                name.endswith(("_backends", "_frameworks"))
            ):
                last, there = node.end_lineno or node.lineno, False
                for following in body[index + 1 :]:
                    if not (isinstance(following, ast.If) and AVAILABLE in ast.unparse(following.test)):
                        break
                    last = following.end_lineno or following.lineno
                    there = there or PORT_BACKEND in ast.unparse(following.test)
                found.append(None if there else (last, name, " " * node.col_offset))
    return found


def _imports_it(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and any(alias.name == AVAILABLE for alias in node.names) for node in tree.body
    )
