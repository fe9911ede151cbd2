"""What several rules ask of a kernel's syntax tree: its calls, its annotated bindings, its loops."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from tileport_skill.lint.records import Part, Port
from tileport_skill.lint.rust_tree import called, line_of, squeezed, text_of, walk


def calls(port: Port, part: Part, *names: str) -> Iterator[Node]:
    """The calls of functions and methods with these names."""
    source = port.part(part)
    if source is not None:
        for call in source.rust.walk("call_expression"):
            if not names or called(call) in names:
                yield call


def nodes(port: Port, part: Part, *kinds: str) -> Iterator[Node]:
    source = port.part(part)
    if source is not None:
        yield from source.rust.walk(*kinds)


def type_at(function: Node, name: str, line: int) -> str:
    """The annotated type that `name` has on a line; empty where none is written."""
    found = ""
    for bound_at, bound, kind in _annotated(function):
        if bound == name and bound_at < line:
            found = kind
    return found


def _annotated(function: Node) -> Iterator[tuple[int, str, str]]:
    for node in walk(function, "parameter", "let_declaration"):
        kind = node.child_by_field_name("type")
        if kind is not None:
            name = text_of(node.child_by_field_name("pattern")).removeprefix("mut ").strip()
            at = 0 if node.type == "parameter" else line_of(node)
            yield at, name, squeezed(kind)


def element_of(kind: str) -> str:
    """`u8` of `Tile<u8,{[N]}>`."""
    return kind.partition("<")[2].partition(",")[0]
