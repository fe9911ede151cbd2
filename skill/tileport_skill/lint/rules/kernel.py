"""What the language of kernels has no word for: a compiler refuses each, and says it late and darkly."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from tileport_skill.lint.records import Hit, Port, Rule
from tileport_skill.lint.rules.reading import calls, element_of, nodes, type_at
from tileport_skill.lint.rust_tree import (
    arguments,
    attributes,
    called,
    generics,
    inside,
    is_method,
    line_of,
    parameters,
    squeezed,
    text_of,
    walk,
)

_INFERRED = ("exti", "trunci", "convert_tile", "scalar_to_tile", "bitcast")
_WITHOUT_WORD = ("remi", "divi", "itof", "shli", "noti", "trunci")
_INTEGERS = frozenset({"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"})
_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})


def module(body: str, parameters: str = "x: *mut E, n: i32", attribute: str = "#[cutile::entry()]") -> str:
    """A kernel file around the body of one entry, for examples."""
    return (
        "#[cutile::module]\npub mod m {\n    use cutile::core::*;\n"
        f"    {attribute}\n    pub unsafe fn k<E: ElementType, const N: i32>({parameters}) {{\n"
        f"        {body}\n    }}\n}}\n"
    )


def _hit(node: Node, what: str) -> Hit:
    return Hit(part="kernel", line=line_of(node), what=what)


def _nested(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", *_INFERRED):
        above = call.parent
        outer = inside(call, "call_expression")
        if above is not None and outer is not None and above.type in {"arguments", "field_expression"}:
            yield _hit(call, f"`{called(call)}(...)` stands inside `{called(outer)}(...)`")
    own = {text_of(one.child_by_field_name("name")) for one in nodes(port, "kernel", "function_item")}
    for call in calls(port, "kernel", *own) if own else ():
        outer = inside(call, "call_expression")
        if outer is not None and called(outer) == "Some":
            yield _hit(call, f"`{called(call)}(...)` stands inside `Some(...)`")
    for call in calls(port, "kernel", "reshape", "broadcast"):
        if not is_method(call) and call.parent is not None and call.parent.type == "arguments":
            yield _hit(call, f"`{called(call)}(...)` stands inside another call; write it as a method")


def _constants(port: Port) -> Iterator[Hit]:
    for name in nodes(port, "kernel", "scoped_identifier"):
        text = squeezed(name)
        if re.fullmatch(r"(.*::)?(f16|bf16|f32|f64)::(MAX|MIN|EPSILON|MIN_POSITIVE|NAN)", text) or "::consts::" in text:
            yield _hit(name, f"`{text}`")


def _shapes(port: Port) -> Iterator[Hit]:
    for argument in nodes(port, "kernel", "type_arguments"):
        if argument.parent is not None and argument.parent.type == "type_arguments":
            continue
        for node in walk(argument, "binary_expression"):
            yield _hit(node, f"`{text_of(node)}` in a type")
    for macro in nodes(port, "kernel", "macro_invocation"):
        text = squeezed(macro)
        if text.startswith(("const_shape!", "const_array!")) and re.search(r"[\w)][-+*/%]", text.partition("!")[2]):
            yield _hit(macro, f"`{text}`")


def _reductions(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod"):
        if call.parent is not None and call.parent.type == "binary_expression":
            yield _hit(call, f"`{text_of(call.parent)}`")


def _steps(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", "step_by"):
        function, given = inside(call, "function_item"), arguments(call)
        if function is None or not given:
            continue
        text = text_of(given[0])
        numbers = {name for name, kind in generics(function) if kind == "const"}
        kind = "i32" if text in numbers else type_at(function, text, line_of(call) + 1)
        if kind in _INTEGERS or re.fullmatch(r"\d+[iu]\d+", text):
            yield _hit(call, f"`step_by({text})`")


def _dims(port: Port) -> Iterator[Hit]:
    for literal in nodes(port, "kernel", "struct_expression"):
        name = squeezed(literal.child_by_field_name("name"))
        shape = re.fullmatch(r"(?:Shape|Array)::<\{\[([^\]]*)\]\}>", name)
        dims = next((d for d in walk(literal, "field_initializer") if text_of(d).startswith("dims")), None)
        listed = next(walk(dims, "array_expression"), None) if dims is not None else None
        if shape is None or listed is None:
            continue
        dynamic = shape[1].split(",").count("-1")
        given = len([one for one in listed.named_children if "comment" not in one.type])
        if given != dynamic:
            yield _hit(literal, f"`{name}` has {dynamic} dynamic sizes and `dims` gives {given}")


def _bare_attribute(port: Port) -> Iterator[Hit]:
    for function in nodes(port, "kernel", "function_item"):
        for attribute in attributes(function):
            if squeezed(attribute) == "#[cutile::entry]":
                yield _hit(attribute, "`#[cutile::entry]`")


def _element_constants(port: Port) -> Iterator[Hit]:
    for function in nodes(port, "kernel", "function_item"):
        types = {name for name, kind in generics(function) if kind == "type"}
        for name in walk(function, "scoped_identifier"):
            path, _, last = squeezed(name).rpartition("::")
            call = inside(name, "call_expression")
            direct = name.parent is not None and name.parent.type == "arguments"
            if path in types and not (direct and call is not None and called(call) == "constant"):
                yield _hit(name, f"`{path}::{last}` outside of `constant(...)`")


def _unannotated(port: Port) -> Iterator[Hit]:
    for let in nodes(port, "kernel", "let_declaration"):
        value = let.child_by_field_name("value")
        bare = let.child_by_field_name("type") is None
        if bare and value is not None and value.type == "call_expression" and called(value) == "load_ptr_tko":
            yield _hit(let, f"`let {text_of(let.child_by_field_name('pattern'))} = load_ptr_tko(...)`")


def _runtime_constants(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", "constant"):
        value = arguments(call)[:1]
        if (
            value
            and not is_method(call)
            and value[0].type in {"identifier", "binary_expression", "type_cast_expression"}
        ):
            yield _hit(call, f"`constant({text_of(value[0])}, ...)`")


def _casts(port: Port) -> Iterator[Hit]:
    for cast in nodes(port, "kernel", "type_cast_expression"):
        if text_of(cast.child_by_field_name("type")) in _FLOATS:
            yield _hit(cast, f"`{text_of(cast)}`")


def _wordless(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", *_WITHOUT_WORD):
        if not is_method(call):
            yield _hit(call, f"`{called(call)}(...)`")


def _converted_integers(port: Port) -> Iterator[Hit]:
    for call in calls(port, "kernel", "convert_tile"):
        let, function = inside(call, "let_declaration"), inside(call, "function_item")
        if let is None or function is None or not arguments(call):
            continue
        source = element_of(type_at(function, text_of(arguments(call)[0]), line_of(call)))
        target = element_of(squeezed(let.child_by_field_name("type")))
        if source in _INTEGERS and target in _INTEGERS and source != target:
            yield _hit(call, f"`convert_tile` from `{source}` to `{target}`")


def _compound(port: Port) -> Iterator[Hit]:
    for node in nodes(port, "kernel", "compound_assignment_expr"):
        yield _hit(node, f"`{text_of(node)}`")


def _mutable_outputs(port: Port) -> Iterator[Hit]:
    for function in nodes(port, "kernel", "function_item"):
        for name, kind in parameters(function):
            if kind.startswith("&mutTensor"):
                yield _hit(function, f"`{name}: &mut Tensor`")


def _nightly(port: Port) -> Iterator[Hit]:
    for part in ("kernel", "launcher", "library"):
        for node in nodes(port, part, "inner_attribute_item", "attribute_item"):
            if squeezed(node).startswith(("#![feature(", "#[feature(")):
                yield Hit(part=part, line=line_of(node), what=f"`{text_of(node)}`")


_LOAD = "load_ptr_tko(p, ordering::Weak, None::<scope::TileBlock>, None, None::<E>, None::<Token>, Latency::<0>);"

RULES = (
    Rule(
        id="bind-inferred-calls",
        says="Bind a conversion, or what goes into `Some`, to a typed name instead of nesting it in another call.",
        because="Its type is inferred from where it goes, and inside another call there is nothing to infer it from.",
        check=_nested,
        bad={"kernel": module("let t: Tile<f32, { [] }> = exp2(convert_tile(a), ftz::Enabled);")},
        good={
            "kernel": module(
                "let b: Tile<f32, { [] }> = convert_tile(a); let t: Tile<f32, { [] }> = exp2(b, ftz::Enabled);"
            )
        },
        upstream=(1, 7),
        trap="calls inside calls",
    ),
    Rule(
        id="write-constants-out",
        says="Write a constant such as `f32::MAX` out as a number.",
        because="cuTile Rust 0.2.0 knows the infinities by name and nothing else of `f32` or `consts`.",
        check=_constants,
        bad={"kernel": module("let t: Tile<f32, { [N] }> = constant(f32::EPSILON, const_shape![N]);")},
        good={"kernel": module("let t: Tile<f32, { [N] }> = constant(f32::NEG_INFINITY, const_shape![N]);")},
        upstream=(2,),
    ),
    Rule(
        id="no-arithmetic-in-types",
        says="Give a shape its size as one const generic or number, computed by the launcher.",
        because="Neither the macro nor the compiler reads arithmetic in a type or a shape.",
        check=_shapes,
        bad={"kernel": module("let t: Tile<f32, { [N + 1] }> = constant(1.0f32, const_shape![N]);")},
        good={"kernel": module("let m: i32 = N + 1; let t: Tile<f32, { [N] }> = constant(1.0f32, const_shape![N]);")},
        upstream=(6,),
    ),
    Rule(
        id="bind-reductions",
        says="Bind a reduction to a typed name before it is used in arithmetic.",
        because="rustc cannot infer its type as an operand (E0283), though `tileport-skill emit` compiles it.",
        check=_reductions,
        bad={"kernel": module("let t: Tile<f32, { [] }> = reduce_sum(a, 0i32) * b;")},
        good={"kernel": module("let s: Tile<f32, { [] }> = reduce_sum(a, 0i32); let t: Tile<f32, { [] }> = s * b;")},
        upstream=(4,),
    ),
    Rule(
        id="step-by-usize",
        says="Give `step_by` a `usize`: `step_by(n as usize)`.",
        because="rustc refuses another type (E0308), though `tileport-skill emit` compiles it.",
        check=_steps,
        bad={"kernel": module("for j in (0i32..n).step_by(n) { }")},
        good={"kernel": module("for j in (0i32..n).step_by(n as usize) { }")},
        upstream=(13,),
    ),
    Rule(
        id="dims-are-the-dynamic-ones",
        says="Let `dims` of a `Shape` or `Array` give the dynamic sizes, one for each -1.",
        because="One too many or too few is taken without a word, and the sizes after it are then another axis's.",
        check=_dims,
        bad={"kernel": module("let s: Array<{ [-1, 1] }> = Array::<{ [-1, 1] }> { dims: &[n, 1i32] };")},
        good={"kernel": module("let s: Array<{ [-1, 1] }> = Array::<{ [-1, 1] }> { dims: &[n] };")},
        upstream=(9,),
    ),
    Rule(
        id="entry-has-parentheses",
        says="Write `#[cutile::entry()]` with parentheses.",
        because="Without them no launcher is generated, and nothing says so.",
        check=_bare_attribute,
        bad={"kernel": module("", attribute="#[cutile::entry]")},
        good={"kernel": module("")},
        upstream=(12,),
    ),
    Rule(
        id="element-constants-in-constant",
        says="Use `E::ZERO` as the argument of `constant` only.",
        because="The compiler takes it nowhere else; a padding value can be read out of a tile of one zero.",
        check=_element_constants,
        bad={"kernel": module("let z: E = E::ZERO;")},
        good={"kernel": module("let z: Tile<E, { [1] }> = constant(E::ZERO, const_shape![1]);")},
        upstream=(14,),
        trap="E::ZERO outside of a call that takes it",
    ),
    Rule(
        id="annotate-loads",
        says="Annotate what `load_ptr_tko` returns, the token too.",
        because="Tile and token are inferred from the annotation; without it the call is refused.",
        check=_unannotated,
        bad={"kernel": module(f"let (t, token) = {_LOAD}")},
        good={"kernel": module(f"let (t, token): (Tile<E, {{ [N] }}>, Token) = {_LOAD}")},
        upstream=(15, 47),
    ),
    Rule(
        id="constant-takes-a-literal",
        says="Spread a run-time value or a const generic by `broadcast_scalar`, not by `constant`.",
        because="`constant` is a constant of the compiled kernel, and the compiler has no value for a name there.",
        check=_runtime_constants,
        bad={"kernel": module("let t: Tile<i32, { [N] }> = constant(n, const_shape![N]);")},
        good={"kernel": module("let t: Tile<i32, { [N] }> = broadcast_scalar(n, const_shape![N]);")},
        upstream=(18,),
    ),
    Rule(
        id="no-cast-to-float",
        says="Turn an integer into a float by `scalar_to_tile` and `convert_tile`.",
        because="`as f32` and `itof` do not compile in 0.2.0.",
        check=_casts,
        bad={"kernel": module("let t: Tile<f32, { [] }> = scalar_to_tile(N as f32);")},
        good={
            "kernel": module(
                "let i: Tile<i32, { [] }> = scalar_to_tile(N); let t: Tile<f32, { [] }> = convert_tile(i);"
            )
        },
        upstream=(46,),
    ),
    Rule(
        id="operations-without-a-word",
        says="Write `/`, `%`, `convert_tile` or arithmetic for `remi`, `divi`, `itof`, `shli`, `noti`, `trunci`.",
        because="cuTile Rust 0.2.0 declares these and cannot write them out: an attribute is missing.",
        check=_wordless,
        bad={"kernel": module("let t: Tile<i32, { [N] }> = remi(a, b);")},
        good={"kernel": module("let t: Tile<i32, { [N] }> = a % b;")},
        upstream=(46, 7),
        trap="remi",
    ),
    Rule(
        id="no-integer-convert-tile",
        says="Widen integers by `exti`, not by `convert_tile`.",
        because="`convert_tile` between integer types is not implemented in 0.2.0.",
        check=_converted_integers,
        bad={
            "kernel": module(
                "let a: Tile<i32, { [N] }> = iota(const_shape![N]);\n"
                "        let t: Tile<i64, { [N] }> = convert_tile(a);"
            )
        },
        good={
            "kernel": module(
                "let a: Tile<i32, { [N] }> = iota(const_shape![N]);\n        let t: Tile<i64, { [N] }> = exti(a);"
            )
        },
        upstream=(7,),
        trap="convert_tile of integers",
    ),
    Rule(
        id="no-compound-assignment",
        says="Write `acc = acc + x`.",
        because="`+=` and its like are refused.",
        check=_compound,
        bad={"kernel": module("acc += a;")},
        good={"kernel": module("acc = acc + a;")},
    ),
    Rule(
        id="no-mutable-tensor-parameters",
        says="Take an output as `&Tensor` with `partition_full_mut`, or as a pointer.",
        because="`&mut Tensor` ties the grid to the tensor's own partition, so that another grid cannot be launched.",
        check=_mutable_outputs,
        bad={"kernel": module("", parameters="out: &mut Tensor<E, { [4] }>")},
        good={"kernel": module("", parameters="out: &Tensor<E, { [-1] }>")},
        upstream=(43,),
    ),
    Rule(
        id="no-nightly",
        says="Keep to stable Rust.",
        because="The crates are built with a stable toolchain; one feature stops the build of every port.",
        check=_nightly,
        bad={"kernel": "#![feature(generic_const_exprs)]\n"},
        good={"kernel": module("")},
        upstream=(36,),
    ),
)
