"""What cuTile Rust 0.2.0 compiles to something else than is written; each has a test on the real compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from tileport_skill.lint.records import Hit, Port, Rule
from tileport_skill.lint.rules.kernel import module
from tileport_skill.lint.rules.reading import calls, element_of, nodes, type_at
from tileport_skill.lint.rust_tree import (
    arguments,
    called,
    entries,
    generics,
    inside,
    is_method,
    line_of,
    squeezed,
    text_of,
    walk,
)

_SIGNED_LIMIT = {"u8": 2**7, "u16": 2**15, "u32": 2**31}
_PARTITIONS = ("partition", "partition_permuted")


def _hit(node: Node, what: str) -> Hit:
    return Hit(part="kernel", line=line_of(node), what=what)


def _false(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", "constant"):
        if [text_of(one) for one in arguments(call)[:1]] == ["false"]:
            yield _hit(call, "`constant(false, ...)` is all true")


def _one(port: Port) -> Iterator[Hit]:
    for function in nodes(port, "kernel", "function_item"):
        types = {name for name, kind in generics(function) if kind == "type"}
        for name in walk(function, "scoped_identifier"):
            path, _, last = squeezed(name).rpartition("::")
            if last != "ZERO" and (path in types or path in {"bf16", "f16"}):
                yield _hit(name, f"`{path}::{last}`")


def _large(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", "constant"):
        for value in arguments(call)[:1]:
            written = re.fullmatch(r"([\d_]+)_?(u8|u16|u32)", text_of(value))
            if written and int(written[1].replace("_", "")) >= _SIGNED_LIMIT[written[2]]:
                yield _hit(call, f"`constant({text_of(value)}, ...)` is 0")


def _widened(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", "exti"):
        function = inside(call, "function_item")
        if function is not None and not is_method(call) and arguments(call):
            source = element_of(type_at(function, text_of(arguments(call)[0]), line_of(call)))
            if source in {"u8", "u16"}:
                yield _hit(call, f"`exti` of a tile of `{source}` copies the sign bit")


def _closures(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", "reduce"):
        if any(one.type == "closure_expression" for one in arguments(call)):
            yield _hit(call, "`reduce` with a closure")


def _in_place(port: Port) -> Iterator[Hit]:
    source = port.part("kernel")
    for entry in entries(source.rust) if source else ():
        views = dict(_views(entry))
        stored = {tensor for tensor, way in views.values() if way.endswith("_mut")}
        for call in walk(entry, "call_expression"):
            function = call.child_by_field_name("function")
            name = text_of(function.child_by_field_name("value")) if function is not None and is_method(call) else ""
            tensor, way = views.get(name, ("", ""))
            if called(call) == "load" and way in _PARTITIONS and tensor in stored:
                yield _hit(call, f"`{name}.load(...)` reads `{tensor}`, which this entry also writes")


def _views(entry: Node) -> Iterator[tuple[str, tuple[str, str]]]:
    """What each view is a view of, and by which method: `let tiles = x.partition(...)`."""
    for let in walk(entry, "let_declaration"):
        for call in walk(let, "call_expression"):
            function = call.child_by_field_name("function")
            if called(call).startswith("partition") and function is not None and is_method(call):
                name = text_of(let.child_by_field_name("pattern")).removeprefix("mut ")
                yield name, (text_of(function.child_by_field_name("value")), called(call))


def _leaves_for(port: Port) -> Iterator[Hit]:
    for node in nodes(port, "kernel", "break_expression", "continue_expression"):
        around = inside(node, "for_expression", "while_expression", "loop_expression")
        if around is not None and around.type == "for_expression":
            yield _hit(node, f"`{text_of(node)}` in a `for` loop")


def _returns_early(port: Port) -> Iterator[Hit]:
    around = ("if_expression", "for_expression", "while_expression", "loop_expression", "match_expression")
    for node in nodes(port, "kernel", "return_expression"):
        if inside(node, *around) is not None:
            yield _hit(node, f"`{text_of(node)}` in a branch or a loop")


_COPY = """let tiles: Partition<E, { [N] }> = SOURCE.partition(const_shape![N]);
        let v: Tile<E, { [N] }> = tiles.load([n]);
        let mut out: PartitionMut<E, { [N] }> = unsafe { x.partition_full_mut(const_shape![N]) };
        unsafe { out.store(v, [n]) };"""
_ONES = "let a: Tile<f32, { [N] }> = constant(1.0f32, const_shape![N]);"

RULES = (
    Rule(
        id="constant-false-is-true",
        says="Make a mask of false by a comparison that never holds, not by `constant(false, ...)`.",
        because="The compiler writes `true` for it.",
        check=_false,
        bad={"kernel": module("let t: Tile<bool, { [N] }> = constant(false, const_shape![N]);")},
        good={"kernel": module("let t: Tile<bool, { [N] }> = constant(true, const_shape![N]);")},
        trap="constant(false) is true",
    ),
    Rule(
        id="only-zero-of-an-element-type",
        says="Of an element type's constants use `ZERO` alone; make others in `f32` and convert them.",
        because="For `bf16` the compiler takes the bits of another format: `ONE` is 1.875, the infinities are NaN.",
        check=_one,
        bad={"kernel": module("let t: Tile<E, { [N] }> = constant(E::ONE, const_shape![N]);")},
        good={"kernel": module(f"{_ONES} let t: Tile<E, {{ [N] }}> = convert_tile(a);")},
        trap="bf16::ONE is 1.875",
    ),
    Rule(
        id="no-large-unsigned-constants",
        says="Write an unsigned constant above the signed range of its type as a wider one.",
        because="It becomes 0.",
        check=_large,
        bad={"kernel": module("let t: Tile<u32, { [N] }> = constant(3000000000u32, const_shape![N]);")},
        good={"kernel": module("let t: Tile<u64, { [N] }> = constant(3000000000u64, const_shape![N]);")},
        trap="a large u32 is 0",
    ),
    Rule(
        id="no-widening-of-small-unsigned",
        says="Mask the upper bits off after `exti` of `u8` or `u16`, or load the data as a signed type.",
        because="They are widened as if they were signed.",
        check=_widened,
        bad={
            "kernel": module(
                "let t: Tile<u8, { [N] }> = constant(100u8, const_shape![N]);\n"
                "        let u: Tile<i32, { [N] }> = exti(t);"
            )
        },
        good={
            "kernel": module(
                "let t: Tile<i8, { [N] }> = constant(100i8, const_shape![N]);\n"
                "        let u: Tile<i32, { [N] }> = exti(t);"
            )
        },
        trap="u8 is widened as signed",
    ),
    Rule(
        id="no-return-in-a-branch",
        says="End a kernel early by an `else` around the rest of it, not by `return` in a branch.",
        because="The compiler leaves that `return` out: the rest runs all the same.",
        check=_returns_early,
        bad={"kernel": module("if n > 3i32 { return; }")},
        good={"kernel": module("if n > 3i32 { let m = n + 1i32; } else { let m = n + 2i32; }")},
        trap="a return in a branch is left out",
    ),
    Rule(
        id="no-closure-reductions",
        says="Reduce by `reduce_sum`, `reduce_max`, `reduce_min` or `reduce_prod`.",
        because="`reduce` with a closure ignores its identity, and over a matrix its bytecode cannot be read.",
        check=_closures,
        bad={
            "kernel": module(f"{_ONES} let t: Tile<f32, {{ [] }}> = reduce(a, 0i32, 7.0f32, |x: f32, y: f32| x * y);")
        },
        good={"kernel": module(f"{_ONES} let t: Tile<f32, {{ [] }}> = reduce_sum(a, 0i32);")},
        trap="a reduction by a closure ignores its identity",
    ),
    Rule(
        id="no-partition-load-in-place",
        says="In an entry that writes a tensor in place, load it with a token and store after that token.",
        because="`Partition::load` drops its token, so the hardware may write before it has read.",
        check=_in_place,
        bad={
            "kernel": module(
                _COPY.replace("SOURCE", "x"),
                "x: &Tensor<E, { [-1] }>, n: i32",
            )
        },
        good={
            "kernel": module(
                _COPY.replace("SOURCE", "y"),
                "x: &Tensor<E, { [-1] }>, y: &Tensor<E, { [-1] }>, n: i32",
            )
        },
        trap="a store in place",
    ),
    Rule(
        id="no-break-in-for",
        says="Leave a `for` loop at its end only; a loop that ends early is a `while` or a `loop`.",
        because="Tile IR's `for` cannot be left, and the compiler writes bytecode for it that no reader takes.",
        check=_leaves_for,
        bad={"kernel": module("for j in 0i32..n { if j > 3i32 { break; } }")},
        good={"kernel": module("let mut j: i32 = 0i32; while j < n { j = j + 1i32; }")},
        trap="a break in a for loop",
    ),
)
