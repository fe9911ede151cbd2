"""What a port keeps of its reference's module: all that the registered functions reach, with the calls into cuTile
replaced by the port's own. A construct that has no counterpart is refused with its line.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from tileport_skill.draft.replaced import (
    HELPERS,
    HINTED,
    OWN,
    SEARCH,
    Siblings,
    SourceText,
    check_import,
    replacements,
    sibling,
)
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tilegym.operators import REFERENCE_BACKEND

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
class Borrowed:
    """A function of another operator that the host code calls: of that operator's port, in a port."""

    name: str
    """What the host code calls it."""
    module: str
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The reference's host code, in its own order."""

    header: tuple[str, ...]
    """The comment that the file begins with."""
    imports: tuple[str, ...]
    """One imported name each."""
    pieces: tuple[Piece, ...]
    borrowed: tuple[Borrowed, ...] = ()

    def uses(self, name: str) -> bool:
        """Whether the code calls the wrapper's own `name`."""
        return any(f"{name}(" in text for piece in self.pieces for text in (piece.text, piece.hints))


def read_host(text: str, siblings: Siblings | None = None) -> Host:
    """Raises `Untranslatable` with the line of what cannot be carried over."""
    module = _Module(text, siblings or {})
    kept, names = module.reached()
    pieces = tuple(module.piece(node) for node in module.tree.body if node in kept)
    header = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        header.append(line)
    imports = tuple(sorted({module.kept_import(name) for name in names} - {""}))
    borrowed = tuple(module.borrowed[name] for name in sorted(names & module.borrowed.keys()))
    return Host(header=tuple(header), imports=imports, pieces=pieces, borrowed=borrowed)


def registered(text: str) -> frozenset[str]:
    """The functions of a module that are registered as an operator's implementation."""
    return frozenset(n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and _registered(n))


class _Module:
    def __init__(self, text: str, siblings: Siblings) -> None:
        self.siblings = siblings
        self.borrowed: dict[str, Borrowed] = {}
        self.source = SourceText(text)
        self.tree = ast.parse(text)
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
                    if (module := sibling(node, self.siblings)) is not None:
                        local = alias.asname or alias.name
                        self.borrowed[local] = Borrowed(name=local, module=module, function=alias.name)
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
            decorator = _kernel_decorator(node, self.tile)
            for name, line in _names(node) if decorator is None else _hint_names(decorator):
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
        if name in HELPERS and said.startswith(("from .utils import", "from tilegym.ops.cutile.utils import")):
            return HELPERS[name]
        if name in (SEARCH, HINTED, self.tile) or name in self.borrowed:
            return ""
        check_import(said, line)
        return said

    def piece(self, node: ast.stmt) -> Piece:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        comments = first
        while comments > 1 and self.source.lines[comments - 2].startswith("#"):
            comments -= 1
        end = node.end_lineno or node.lineno
        above = [*self.source.lines[comments - 1 : first - 1], ""]
        decorator = _kernel_decorator(node, self.tile)
        if decorator is not None:
            assert isinstance(node, ast.FunctionDef)
            hints = _hints(decorator, self.tile)
            return Piece(text="\n".join(above), kernel=node.name, hints=hints, line=comments, end=end)
        text = self.source.edited(first, end, list(replacements(self.source, node, self.tile, self.siblings)))
        return Piece(text="\n".join(above) + text.rstrip("\n"), line=comments, end=end)


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
        if keyword.arg not in ("occupancy", "num_ctas", "num_worker_warps") or not (
            isinstance(keyword.value, (ast.Constant, ast.Name)) or _is_by_target(keyword.value, tile)
        ):
            raise Untranslatable(f"the hint {ast.unparse(keyword)}", decorator.lineno)
    said = ", ".join(map(ast.unparse, decorator.keywords))
    return said.replace(f"{tile}.ByTarget(", f"{OWN['ByTarget']}(")


def _is_by_target(node: ast.expr, tile: str) -> bool:
    if not (isinstance(node, ast.Call) and ast.unparse(node.func) == f"{tile}.ByTarget") or node.args:
        return False
    return all(isinstance(keyword.value, ast.Constant) for keyword in node.keywords)


def _hint_names(decorator: ast.expr) -> Iterator[tuple[str, int]]:
    for keyword in getattr(decorator, "keywords", []):
        if not isinstance(keyword.value, ast.Call):  # of `ct.ByTarget(...)` nothing is looked up
            yield from _names(keyword.value)


def _names(node: ast.AST) -> Iterator[tuple[str, int]]:
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
