"""What a port keeps of its reference's module: all that the registered functions reach, with the calls into cuTile
replaced by the port's own. A construct that has no counterpart is refused with its line.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from tileport_skill.draft.values import Untranslatable
from tileport_skill.tilegym.operators import PORT_BACKEND, REFERENCE_BACKEND

HELPERS = {"next_power_of_2": "from tilegym.backend.cutile_rs.utils import next_power_of_2"}
"""Functions of the reference's `utils` that TileGym has for ports too."""
REPLACED = {"exhaustive_search": "_exhaustive_search", "cached_replace_hints": ""}
SEARCH_ARGUMENTS = ("search_space", "stream", "grid_fn", "kernel", "args_fn", "hints_fn")
DEVICE_DECORATORS = ("experimental_kernel",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One kept statement with the comments above it, or the place of a kernel."""

    text: str
    kernel: str | None = None
    hints: str = ""
    """The compiler hints that the kernel's decorator gives, as its text."""
    line: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The reference's host code, in its own order."""

    header: tuple[str, ...]
    """The comment that the file begins with."""
    imports: tuple[str, ...]
    """One imported name each."""
    pieces: tuple[Piece, ...]
    tunes: bool


def read_host(text: str) -> Host:
    """Raises `Untranslatable` with the line of what cannot be carried over."""
    module = _Module(text)
    kept, names = module.reached()
    pieces = tuple(module.piece(node) for node in module.tree.body if node in kept)
    header = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        header.append(line)
    imports = tuple(sorted({module.kept_import(name) for name in names} - {""}))
    tunes = any("_exhaustive_search(" in piece.text for piece in pieces)
    return Host(header=tuple(header), imports=imports, pieces=pieces, tunes=tunes)


class _Module:
    def __init__(self, text: str) -> None:
        self.text = text.encode()
        self.lines = text.splitlines()
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.imports: dict[str, tuple[str, int]] = {}
        self.defined: dict[str, ast.stmt] = {}
        for node in self.tree.body:
            self._define(node)
        tiles = [name for name, (said, _) in self.imports.items() if said.startswith("import cuda.tile")]
        self.tile = tiles[0] if tiles else "ct"

    def _define(self, node: ast.stmt) -> None:
        match node:
            case ast.Import():
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = (f"import {_said(alias)}", node.lineno)
            case ast.ImportFrom():
                for alias in node.names:
                    said = f"from {'.' * node.level}{node.module or ''} import {_said(alias)}"
                    self.imports[alias.asname or alias.name] = (said, node.lineno)
            case ast.FunctionDef() | ast.ClassDef():
                self.defined[node.name] = node
            case ast.Assign():
                for name in (n for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)):
                    self.defined[name.id] = node
            case ast.AnnAssign(target=ast.Name(id=name)):
                self.defined[name] = node

    def reached(self) -> tuple[set[ast.stmt], set[str]]:
        """The statements that the registered functions need, and the imported names."""
        found: set[ast.stmt] = set()
        imported: set[str] = set()
        waiting = [node for node in self.tree.body if isinstance(node, ast.FunctionDef) and _registered(node)]
        if not waiting:
            raise Untranslatable("a module whose implementations are not registered by decorators of its functions")
        left: list[ast.stmt] = list(waiting)
        while left:
            node = left.pop()
            if node in found:
                continue
            found.add(node)
            if _kernel_decorator(node, self.tile) is not None:
                continue
            for name, line in _names(node):
                if name in self.imports:
                    imported.add(name)
                elif name in self.defined:
                    left.append(self.defined[name])
                elif not hasattr(builtins, name) and name not in _bound(node):
                    raise Untranslatable(f"{name}, which no plain statement of the module defines", line)
        return found, imported

    def kept_import(self, name: str) -> str:
        """The import as the port has it; nothing for what is replaced where it is used."""
        said, line = self.imports[name]
        if name in HELPERS and said.startswith("from .utils import"):
            return HELPERS[name]
        if name in REPLACED or name == self.tile:
            return ""
        _check_import(said, line)
        return said

    def piece(self, node: ast.stmt) -> Piece:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        comments = first
        while comments > 1 and self.lines[comments - 2].startswith("#"):
            comments -= 1
        end = node.end_lineno or node.lineno
        above = [*self.lines[comments - 1 : first - 1], ""]
        decorator = _kernel_decorator(node, self.tile)
        if decorator is not None:
            assert isinstance(node, ast.FunctionDef)
            hints = _hints(decorator, self.tile)
            return Piece(text="\n".join(above), kernel=node.name, hints=hints, line=comments, end=end)
        text = self._edited(self.starts[first - 1], self.starts[end], list(self._edits(node)))
        return Piece(text="\n".join(above) + text.rstrip("\n"), line=comments, end=end)

    def _edited(self, start: int, end: int, edits: list[tuple[int, int, str]]) -> str:
        text = b""
        for first, last, new in sorted(edits):
            text += self.text[start:first] + new.encode()
            start = last
        return (text + self.text[start:end]).decode()

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno or 0, node.end_col_offset or 0)

    def _edits(self, node: ast.stmt) -> Iterator[tuple[int, int, str]]:
        known: set[int] = set()
        for one in ast.walk(node):
            match one:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=self.tile), attr="launch") as func):
                    if len(one.args) != 4 or one.keywords:
                        raise Untranslatable("a launch with other arguments than stream, grid, kernel, args", one.lineno)
                    known.add(id(func.value))
                    yield (*self._span(func), "_launch")
                case ast.Call(func=ast.Name(id="exhaustive_search") as func):
                    if any(keyword.arg not in SEARCH_ARGUMENTS for keyword in one.keywords):
                        raise Untranslatable("exhaustive_search with options of its own", one.lineno)
                    known.add(id(func))
                    yield (*self._span(func), REPLACED["exhaustive_search"])
                case ast.Call(func=ast.Name(id="cached_replace_hints") as func, args=[kernel]) if one.keywords:
                    known.add(id(func))
                    hints = one.keywords[0]
                    (start, _), (first, last) = self._span(one), self._span(kernel)
                    yield start, first, ""
                    yield last, self._at(hints.lineno, hints.col_offset), ".replace_hints("
                case ast.Call(func=ast.Name(id="register_impl")):
                    for part in ast.walk(one):
                        if isinstance(part, ast.Constant) and part.value == REFERENCE_BACKEND:
                            known.add(id(part))
                            yield (*self._span(part), f'"{PORT_BACKEND}"')
                case ast.ImportFrom(module="utils", level=1) if all(alias.name in HELPERS for alias in one.names):
                    yield (*self._span(one), "; ".join(HELPERS[alias.name] for alias in one.names))
                case ast.Import() | ast.ImportFrom():
                    _check_import(ast.unparse(one), one.lineno)
                case ast.Name(id=name) if id(one) not in known and (name == self.tile or name in REPLACED):
                    line = self.lines[one.lineno - 1].strip()
                    raise Untranslatable(f"`{line}`, which has no counterpart in a port", one.lineno)
                case ast.Constant(value="cutile") if id(one) not in known:
                    raise Untranslatable("host code that names the backend cutile", one.lineno)


def _check_import(said: str, line: int) -> None:
    if said.startswith(("from .", "from tilegym.ops", "import tilegym.ops")) or "cuda.tile" in said:
        raise Untranslatable(f"`{said}`: the host code uses it, and it belongs to the reference", line)


def _said(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _registered(node: ast.FunctionDef) -> bool:
    texts = [ast.unparse(one) for one in node.decorator_list]
    return any(t.startswith("register_impl(") and f"'{REFERENCE_BACKEND}'" in t for t in texts)


def _kernel_decorator(node: ast.stmt, tile: str) -> ast.expr | None:
    if not isinstance(node, ast.FunctionDef):
        return None
    found = None
    for one in node.decorator_list:
        said = ast.unparse(one)
        if said == f"{tile}.kernel" or said.startswith(f"{tile}.kernel("):
            found = one
    others = [ast.unparse(one) for one in node.decorator_list if one is not found]
    if found is not None and (strange := [one for one in others if one not in DEVICE_DECORATORS]):
        raise Untranslatable(f"the kernel {node.name} with the decorator {strange[0]}", node.lineno)
    return found


def _hints(decorator: ast.expr, tile: str) -> str:
    if not isinstance(decorator, ast.Call):
        return ""
    for keyword in decorator.keywords:
        if keyword.arg not in ("occupancy", "num_ctas", "num_worker_warps") or not isinstance(
            keyword.value, ast.Constant
        ):
            raise Untranslatable(f"the hint {ast.unparse(keyword)}", decorator.lineno)
    return ", ".join(map(ast.unparse, decorator.keywords))


def _names(node: ast.stmt) -> Iterator[tuple[str, int]]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            yield one.id, one.lineno


def _bound(node: ast.stmt) -> set[str]:
    """Names that the statement binds itself, anywhere inside: parameters, variables, inner functions, imports."""
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import() | ast.ImportFrom():
                found |= {(alias.asname or alias.name).split(".")[0] for alias in one.names}
            case ast.ExceptHandler(name=str(name)):
                found.add(name)
    return found
