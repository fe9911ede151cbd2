"""Whether the sides of a port's boundary agree: C declaration, exported function, entry's generics, Python's call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from tileport_skill.lint.declarations import Call, Function, called_from, declared, exported
from tileport_skill.lint.records import Hit, Part, Port
from tileport_skill.lint.rust_tree import (
    RustTree,
    arguments,
    called,
    entries,
    generics,
    line_of,
    parameters,
    squeezed,
    text_of,
    walk,
)


def disagreements(port: Port) -> Iterator[Hit]:
    """Everything in which two sides of the boundary differ; nothing where a side is not at hand."""
    wrapper, launcher, kernel = port.part("wrapper"), port.part("launcher"), port.part("kernel")
    if wrapper is not None:
        functions, unread = declared(wrapper.module)
        yield from (Hit(part="wrapper", line=line, what=what) for line, what in unread)
        if launcher is not None and not unread:
            yield from _signatures(functions, list(exported(launcher.rust)))
        yield from _calls(functions, list(called_from(wrapper.module)))
    if launcher is not None and kernel is not None:
        yield from _entry_calls(launcher.rust, {_name(one): one for one in entries(kernel.rust)})


def _name(function: Node) -> str:
    return text_of(function.child_by_field_name("name"))


def _signatures(declarations: Sequence[Function], exports: Sequence[Function]) -> Iterator[Hit]:
    rust, c = {one.name: one for one in exports}, {one.name: one for one in declarations}
    for one in declarations:
        if one.name not in rust:
            yield _hit("wrapper", one, f"`{one.name}` is declared in C and exported by no launcher")
            continue
        other = rust[one.name]
        if len(one.parameters) != len(other.parameters):
            yield _hit(
                "wrapper",
                one,
                f"`{one.name}` has {len(one.parameters)} parameters in C and {len(other.parameters)} in Rust",
            )
            continue
        for place, (mine, theirs) in enumerate(zip(one.parameters, other.parameters, strict=True), 1):
            if mine != theirs:
                yield _hit(
                    "wrapper",
                    one,
                    f"parameter {place} of `{one.name}` is `{': '.join(mine)}` in C and `{': '.join(theirs)}` in Rust",
                )
        if one.returns != other.returns:
            yield _hit("wrapper", one, f"`{one.name}` returns {one.returns} in C and {other.returns} in Rust")
    for one in exports:
        if one.name not in c:
            yield _hit("launcher", one, f"`{one.name}` is exported and declared in no C declaration of the wrapper")


def _calls(declarations: Sequence[Function], found: Sequence[Call]) -> Iterator[Hit]:
    c = {one.name: one for one in declarations}
    for call in found:
        if call.name not in c:
            yield _hit("wrapper", call, f"`{call.name}` is called and not declared")
            continue
        wanted = c[call.name].parameters
        if len(call.arguments) > len(wanted) or (call.exact and len(call.arguments) != len(wanted)):
            yield _hit(
                "wrapper", call, f"`{call.name}` takes {len(wanted)} arguments and is called with {len(call.arguments)}"
            )
            continue
        names = {name for name, _ in wanted}
        for (name, kind), (parameter, declared_type) in zip(call.arguments, wanted, strict=False):
            if name in names and name != parameter:
                yield _hit("wrapper", call, f"`{call.name}` gets `{name}` where it is declared to take `{parameter}`")
            if (kind == "descriptor") != declared_type.startswith("*") and kind != "unknown":
                yield _hit("wrapper", call, f"`{parameter}: {declared_type}` of `{call.name}` is called with a {kind}")
            elif kind == "float" and declared_type[0] in "iu":
                yield _hit("wrapper", call, f"`{parameter}: {declared_type}` of `{call.name}` is called with a float")


def _entry_calls(launcher: RustTree, known: dict[str, Node]) -> Iterator[Hit]:
    every = list(launcher.walk("call_expression"))
    for call in every:
        entry = known.get(called(call))
        if entry is None:
            continue
        yield from _arguments(call, entry)
        chained = [one for one in every if called(one) == "generics" and arguments(one)]
        after = [one for one in chained if arguments(one)[0].start_byte > call.start_byte and _root(one) == _root(call)]
        if not after:
            if generics(entry):
                yield _line("launcher", call, f"`{called(call)}` is launched without its generics")
            continue
        nearest = min(after, key=lambda one: arguments(one)[0].start_byte)
        yield from _generics(call, entry, _listed(arguments(nearest)[0], nearest))


def _arguments(call: Node, entry: Node) -> Iterator[Hit]:
    wanted, given = parameters(entry), [squeezed(one) for one in arguments(call)]
    if len(wanted) != len(given):
        yield _line("launcher", call, f"`{called(call)}` takes {len(wanted)} arguments and is given {len(given)}")
        return
    names = {name for name, _ in wanted}
    for text, (name, kind) in zip(given, wanted, strict=True):
        bare = re.fullmatch(r"(?:&\*)*(\w+)", text)
        if bare and bare[1] in names and bare[1] != name:
            yield _line("launcher", call, f"`{called(call)}` gets `{bare[1]}` where it takes `{name}`")
        if kind.startswith("*") and text.startswith("&"):
            yield _line("launcher", call, f"`{name}: {kind}` of `{called(call)}` is given a tensor")


def _listed(argument: Node, call: Node) -> list[str] | None:
    """The elements of `vec![...]`, also where it was bound to a name before."""
    if argument.type == "identifier":
        name = text_of(argument)
        bound = [
            let
            for let in _lets(call)
            if text_of(let.child_by_field_name("pattern")) == name and let.start_byte < argument.start_byte
        ]
        value = max(bound, key=lambda let: let.start_byte).child_by_field_name("value") if bound else None
    else:
        value = argument
    text = squeezed(value)
    if not re.fullmatch(r"vec!\[.*\]", text):
        return None
    return [one for one in _split(text[5:-1]) if one]


def _split(text: str) -> list[str]:
    """At the commas that stand in no parentheses."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return found


def _generics(call: Node, entry: Node, given: list[str] | None) -> Iterator[Hit]:
    wanted = generics(entry)
    if given is None:
        return
    if len(given) != len(wanted):
        yield _line("launcher", call, f"`{called(call)}` has {len(wanted)} generics and is given {len(given)}")
        return
    names = {name.lower() for name, _ in wanted}
    for text, (name, kind) in zip(given, wanted, strict=True):
        bare = text.removesuffix(".to_string()").strip("()")
        if bare.lower() in names and bare.lower() != name.lower():
            yield _line("launcher", call, f"`{called(call)}` gets `{bare}` as its generic `{name}`")
        is_type = "dtype" in bare or bare.startswith('"') or bare in {"dty", "dtype"}
        if kind == "const" and is_type:
            yield _line("launcher", call, f"`{called(call)}` gets an element type as its number `{name}`")
        if kind == "type" and not is_type and re.fullmatch(r"\d+|[A-Z0-9_]{2,}", bare):
            yield _line("launcher", call, f"`{called(call)}` gets a number as its element type `{name}`")


def _lets(node: Node) -> Iterator[Node]:
    yield from walk(_root(node), "let_declaration")


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def _hit(part: Part, one: Function | Call, what: str) -> Hit:
    return Hit(part=part, line=one.line, what=what)


def _line(part: Part, node: Node, what: str) -> Hit:
    return Hit(part=part, line=line_of(node), what=what)
