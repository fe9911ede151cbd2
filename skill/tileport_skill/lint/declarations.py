"""The three sides of the C boundary as they are written: C declaration, exported Rust functions, Python's calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pycparser import c_ast, c_parser  # type: ignore[import-untyped]

from tileport_skill.lint.rust_tree import RustTree, line_of, parameters, squeezed, text_of

_TYPES = ("int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "TensorDesc")
_PRELUDE = "".join(f"typedef int {name};" for name in _TYPES)
_RUST = {"int": "i32", "float": "f32", "double": "f64", "_Bool": "bool", "void": "()"}

Kind = Literal["descriptor", "float", "integer", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function of the boundary; types as Rust writes them, without white space: `*constTensorDesc`."""

    name: str
    line: int
    parameters: tuple[tuple[str, str], ...]
    returns: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call from Python: what each argument is called and what kind of value it is."""

    name: str
    line: int
    arguments: tuple[tuple[str, Kind], ...]
    exact: bool
    """False where what follows `arguments` cannot be counted."""


def declared(module: ast.Module) -> tuple[list[Function], list[tuple[int, str]]]:
    """The functions of every C declaration in a wrapper, and what could not be read, with its line."""
    functions: list[Function] = []
    unread: list[tuple[int, str]] = []
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"\bcutile_\w+\s*\(.*;", node.value, re.DOTALL)
        ):
            try:
                tree = c_parser.CParser().parse(_PRELUDE + node.value)
            except Exception as error:  # pycparser's own error class differs between its versions
                unread.append((node.lineno, f"the C declaration cannot be read: {error}"))
                continue
            functions += [
                _function(one, node.lineno)
                for one in tree.ext
                if isinstance(getattr(one, "type", None), c_ast.FuncDecl)
            ]
    return functions, unread


def _function(node: c_ast.Decl, line: int) -> Function:
    listed = node.type.args.params if node.type.args else []
    return Function(
        name=node.name,
        line=line + max(0, node.coord.line - 1),
        parameters=tuple((one.name or "", _rust_type(one.type)) for one in listed),
        returns=_rust_type(node.type.type),
    )


def _rust_type(node: c_ast.Node) -> str:
    if isinstance(node, c_ast.PtrDecl):
        constant = "const" in getattr(node.type, "quals", [])
        return f"*{'const' if constant else 'mut'}{_rust_type(node.type)}"
    name = " ".join(node.type.names)
    sized = re.fullmatch(r"(u?)int(\d+)_t", name)
    return f"{'u' if sized[1] else 'i'}{sized[2]}" if sized else _RUST.get(name, name)


def exported(tree: RustTree) -> Iterator[Function]:
    """The `extern "C"` functions of a launcher."""
    for node in tree.walk("function_item"):
        if any('extern "C"' in text_of(one) for one in node.children if one.type == "function_modifiers"):
            yield Function(
                name=text_of(node.child_by_field_name("name")),
                line=line_of(node),
                parameters=tuple(parameters(node)),
                returns=squeezed(node.child_by_field_name("return_type")) or "()",
            )


def called_from(module: ast.Module) -> Iterator[Call]:
    """`library.cutile_x(...)`, and `"cutile_x", (a, b, ...)`, which a launch function passes on."""
    kinds = {
        target.id: "descriptor"
        for node in ast.walk(module)
        if isinstance(node, ast.Assign) and _is_descriptor(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    rest = _passed_on(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("cutile_"):
            exact = not any(isinstance(one, ast.Starred) for one in node.args)
            given = tuple(_argument(one, kinds) for one in _until_starred(node.args))
            yield Call(name=node.func.attr, line=node.lineno, arguments=given, exact=exact)
        if isinstance(node, ast.Tuple) and len(node.elts) == 2:
            name, crossing = node.elts
            if (
                isinstance(name, ast.Constant)
                and str(name.value).startswith("cutile_")
                and isinstance(crossing, ast.Tuple)
            ):
                given = tuple(_argument(one, kinds) for one in crossing.elts)
                unnamed: tuple[tuple[str, Kind], ...] = (("", "unknown"),) * (rest or 0)
                yield Call(name=str(name.value), line=node.lineno, arguments=given + unnamed, exact=rest is not None)


def _until_starred(args: list[ast.expr]) -> Iterator[ast.expr]:
    for one in args:
        if isinstance(one, ast.Starred):
            return
        yield one


def _argument(node: ast.expr, kinds: dict[str, str]) -> tuple[str, Kind]:
    if _is_descriptor(node) or (isinstance(node, ast.Name) and kinds.get(node.id)):
        return "", "descriptor"
    kind: Kind = "unknown"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        kind = {"float": "float", "int": "integer"}.get(node.func.id, "unknown")  # type: ignore[assignment]
        node = node.args[0]
    elif isinstance(node, ast.Constant):
        kind = "float" if isinstance(node.value, float) else "integer" if isinstance(node.value, int) else "unknown"
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.lower().lstrip("_"), kind


def _is_descriptor(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "make_tensor_desc"


def _passed_on(module: ast.Module) -> int | None:
    """How many arguments a launch function adds to what crosses: grid, hints, device, stream."""
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Call)
            and ast.unparse(node.func).startswith("getattr(")
        ):
            counted = [_count(one) for one in node.args if not _crosses(one)]
            return None if None in counted else sum(one for one in counted if one is not None)
    return None


def _crosses(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred) and isinstance(node.value, ast.ListComp)


def _count(node: ast.expr) -> int | None:
    if not isinstance(node, ast.Starred):
        return 1
    value = node.value
    if (
        isinstance(value, ast.Subscript)
        and isinstance(value.slice, ast.Slice)
        and isinstance(value.slice.upper, ast.Constant)
    ):
        return int(str(value.slice.upper.value))
    return len(value.elts) if isinstance(value, (ast.Tuple, ast.List)) else None
