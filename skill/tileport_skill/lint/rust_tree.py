"""Rust as a syntax tree, with the bodies of its macros read too: a launcher's launch stands in one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter_rust
from tree_sitter import Language, Node, Parser


@dataclass(frozen=True, slots=True, kw_only=True)
class RustTree:
    """The trees of one file: its own, and one for each macro's body, with the file's own line numbers."""

    roots: tuple[Node, ...]

    def walk(self, *kinds: str) -> Iterator[Node]:
        """Every node, or those of the given kinds, in the order of the text within each tree."""
        for root in self.roots:
            yield from walk(root, *kinds)


def parse_rust(text: str) -> RustTree:
    root = _parser().parse(text.encode()).root_node
    return RustTree(roots=(root, *(_macro_body(rule) for rule in walk(root, "macro_rule"))))


def walk(root: Node, *kinds: str) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if not kinds or node.type in kinds:
            yield node
        stack.extend(reversed(node.children))


def text_of(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode()


def line_of(node: Node) -> int:
    return node.start_point[0] + 1


def called(call: Node) -> str:
    """What a call calls: `reduce_sum`, `load` of a method, `reduce_sum` of `reduce_sum::<f32>`."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    if function is not None and function.type == "field_expression":
        return text_of(function.child_by_field_name("field"))
    return text_of(function).rpartition("::")[2]


def is_method(call: Node) -> bool:
    function = call.child_by_field_name("function")
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    return function is not None and function.type == "field_expression"


def arguments(call: Node) -> list[Node]:
    found = call.child_by_field_name("arguments")
    return [] if found is None else [one for one in found.named_children if "comment" not in one.type]


def attributes(item: Node) -> list[Node]:
    """The attributes that stand before an item."""
    found = []
    before = item.prev_named_sibling
    while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
        if before.type == "attribute_item":
            found.append(before)
        before = before.prev_named_sibling
    return found


def entries(tree: RustTree) -> Iterator[Node]:
    """The functions marked `#[cutile::entry(...)]`, also where the parentheses are missing."""
    for function in tree.walk("function_item"):
        if any(squeezed(one).startswith("#[cutile::entry") for one in attributes(function)):
            yield function


def squeezed(node: Node | None) -> str:
    """A node's text without white space."""
    return "".join(text_of(node).split())


def parameters(function: Node) -> list[tuple[str, str]]:
    """Name and type, the latter without white space, of each parameter."""
    listed = function.child_by_field_name("parameters")
    return [
        (text_of(one.child_by_field_name("pattern")), squeezed(one.child_by_field_name("type")))
        for one in (listed.named_children if listed else [])
        if one.type == "parameter"
    ]


def generics(function: Node) -> list[tuple[str, str]]:
    """Name and kind of each generic: `("E", "type")`, `("TILE", "const")`."""
    listed = function.child_by_field_name("type_parameters")
    found = []
    for one in listed.named_children if listed else []:
        if one.type in {"type_parameter", "const_parameter"}:
            found.append((text_of(one.child_by_field_name("name")), one.type.partition("_")[0]))
    return found


def inside(node: Node, *kinds: str) -> Node | None:
    """The innermost ancestor of one of the kinds."""
    above = node.parent
    while above is not None and above.type not in kinds:
        above = above.parent
    return above


def _macro_body(rule: Node) -> Node:
    """The right side of a macro's rule as the body of a function; `$E` is read as `_E`."""
    right = rule.child_by_field_name("right")
    body = text_of(right).replace("$", "_")
    inner = body[1:-1] if body[:1] in "({[" else body
    start = 0 if right is None else right.start_point[0]
    return _parser().parse(("\n" * start + "fn _body() {" + inner + "\n}").encode()).root_node


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_rust.language()))
