"""The calls into cuTile that host code makes, and what stands in their place in a port. Others are refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tileport_skill.draft.values import Untranslatable
from tileport_skill.tilegym.operators import PORT_BACKEND, REFERENCE_BACKEND

Edit = tuple[int, int, str]
"""Bytes from, bytes to, and what stands there now."""
Siblings = Mapping[str, frozenset[str]]
"""Other operators of the reference: a module's name, and the functions that it registers."""
PORTS = "tilegym.ops.cutile_rs"
HELPERS = {"next_power_of_2": "from tilegym.backend.cutile_rs.utils import next_power_of_2"}
"""Functions of the reference's `utils` that TileGym has for ports too."""
OWN = {"launch": "_launch", "compiler_timeout": "_compiler_timeout", "ByTarget": "_ByTarget"}
"""Functions of `cuda.tile` that the wrapper has its own for."""
SIMPLE = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Call)
SEARCH, HINTED = "exhaustive_search", "cached_replace_hints"
SEARCH_ARGUMENTS = ("search_space", "stream", "grid_fn", "kernel", "args_fn", "hints_fn", "quiet")


class SourceText:
    """A module's text, addressed as `ast` does: columns count bytes."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self._bytes = text.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno or 0, node.end_col_offset or 0)

    def edited(self, first: int, last: int, edits: list[Edit]) -> str:
        """Lines `first` to `last` with `edits` made."""
        start, end, text = self.at(first, 0), self.at(last + 1, 0), b""
        for begin, after, new in sorted(edits):
            text += self._bytes[start:begin] + new.encode()
            start = after
        return (text + self._bytes[start:end]).decode()


def replacements(source: SourceText, node: ast.stmt, tile: str, siblings: Siblings) -> Iterator[Edit]:
    """The edits that make one statement a port's. `tile` is what the module calls `cuda.tile`."""
    known: set[ast.AST] = set()
    for said in _annotations(node):
        parts = [one for one in ast.walk(said) if isinstance(one, ast.Name) and one.id == tile]
        if parts:  # a type of cuTile's, which nothing reads
            known |= {*parts}
            yield (*source.span(said), "object")
    for one in ast.walk(node):  # a call comes before its parts
        match one:
            case ast.Call():
                yield from _call(source, one, tile, known)
            case ast.ImportFrom() if imports_helpers(one):
                yield (*source.span(one), "; ".join(HELPERS[alias.name] for alias in one.names))
            case ast.ImportFrom() if (module := sibling(one, siblings)) is not None:
                names = ast.unparse(one).partition(" import ")[2]
                yield (*source.span(one), f"from {PORTS}.{module} import {names}")
            case ast.Import() | ast.ImportFrom():
                check_import(ast.unparse(one), one.lineno)
            case ast.Name(id=name) if one not in known and name in (tile, SEARCH, HINTED):
                line = source.lines[one.lineno - 1].strip()
                raise Untranslatable(f"`{line}`, which has no counterpart in a port", one.lineno)
            case ast.Constant(value=value) if value == REFERENCE_BACKEND and one not in known:
                raise Untranslatable(f"host code that names the backend {value}", one.lineno)


def _call(source: SourceText, call: ast.Call, tile: str, known: set[ast.AST]) -> Iterator[Edit]:
    """Edits of one call; what they account for is `known`."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as module, attr=attr) as func) if (
            name == tile and attr in OWN
        ):
            if attr == "launch" and (len(call.args) != 4 or call.keywords):
                raise Untranslatable("a launch with other arguments than stream, grid, kernel and args", call.lineno)
            known.add(module)
            yield (*source.span(func), OWN[attr])
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name) as module, attr="cdiv"), args=[left, right], keywords=[]
        ) if name == tile:
            known.add(module)
            yield from _rounded_up(source, call, left, right)
        case ast.Call(func=ast.Name(id=name) as func) if name == SEARCH:
            known.add(func)
            yield _search(source, call)
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name) as module, attr="tune"), attr=attr)
        ) if (name, attr) == (tile, SEARCH):
            known.add(module)
            yield _search(source, call)
        case ast.Call(func=ast.Name(id=name) as func, args=[kernel], keywords=[hints, *_]) if name == HINTED:
            known.add(func)
            yield source.span(call)[0], source.span(kernel)[0], ""
            yield source.span(kernel)[1], source.at(hints.lineno, hints.col_offset), ".replace_hints("
        case ast.Call(func=ast.Name(id="register_impl")):
            for part in ast.walk(call):
                if isinstance(part, ast.Constant) and part.value == REFERENCE_BACKEND:
                    known.add(part)
                    yield (*source.span(part), f'"{PORT_BACKEND}"')


def _search(source: SourceText, call: ast.Call) -> Edit:
    if any(keyword.arg not in SEARCH_ARGUMENTS for keyword in call.keywords):
        raise Untranslatable(f"{SEARCH} with options of its own", call.lineno)
    return (*source.span(call.func), f"_{SEARCH}")


def _rounded_up(source: SourceText, call: ast.Call, left: ast.expr, right: ast.expr) -> Iterator[Edit]:
    """`ct.cdiv(a, b)` as `-(-a // b)`."""
    opened, between = ("-(-", " // ") if isinstance(left, SIMPLE) else ("-(-(", ") // ")
    ended = ")"
    if not isinstance(right, SIMPLE):
        between, ended = f"{between}(", "))"
    yield source.span(call)[0], source.span(left)[0], opened
    yield source.span(left)[1], source.span(right)[0], between
    yield source.span(right)[1], source.span(call)[1], ended


def _annotations(node: ast.stmt) -> Iterator[ast.expr]:
    for one in ast.walk(node):
        if isinstance(one, ast.arg | ast.AnnAssign) and one.annotation is not None:
            yield one.annotation


def imports_helpers(node: ast.ImportFrom) -> bool:
    """Whether all that is imported is of the reference's `utils`, and TileGym has it for ports too."""
    of_utils = (node.level, node.module) in ((1, "utils"), (0, "tilegym.ops.cutile.utils"))
    return of_utils and all(alias.name in HELPERS for alias in node.names)


def sibling(node: ast.ImportFrom, siblings: Siblings) -> str | None:
    """The operator whose registered functions are imported, and nothing else of it; a port takes its port's."""
    package, _, module = (node.module or "").rpartition(".")
    near = node.level == 1 and not package
    far = node.level == 0 and f"{package}.".startswith("tilegym.ops.cutile.")
    registered = siblings.get(module, frozenset())
    return module if (near or far) and all(alias.name in registered for alias in node.names) else None


def check_import(said: str, line: int) -> None:
    """Raises `Untranslatable` for what belongs to the reference or to cuTile."""
    if said.startswith(("from .", "from tilegym.ops", "import tilegym.ops")) or "cuda.tile" in said:
        raise Untranslatable(f"`{said}`: the host code uses it, and it belongs to the reference", line)
