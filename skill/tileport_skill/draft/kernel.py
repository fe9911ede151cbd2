"""From one variant of a kernel and the compiler's readings of it to a Rust entry."""

from __future__ import annotations

import ast
import dataclasses
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.capture import records
from tileport_skill.capture.records import Constant, Scalar
from tileport_skill.draft import rust
from tileport_skill.draft.body import Body, Functions, Shared
from tileport_skill.draft.derived import Derived, as_generic
from tileport_skill.draft.facts import Facts, rust_element
from tileport_skill.draft.naming import constant_name, function_name, rust_name, snake
from tileport_skill.draft.oracle.records import Reading
from tileport_skill.draft.printer import print_block
from tileport_skill.draft.rust import call, word
from tileport_skill.draft.source import Source
from tileport_skill.draft.statements import run
from tileport_skill.draft.tokens import follow, ordered_arrays
from tileport_skill.draft.values import Array, Number, Untranslatable, Value
from tileport_skill.draft.variant import Variant
from tileport_skill.draft.viewed import tensors

POINTER_FUNCTIONS = ("gather", "scatter")
DOCUMENTATION = 100
"""How wide a paragraph of it is."""
TAKEN = ("D",)
"""Const generics that cuTile Rust 0.2.0 confuses with its own types': an entry that has one does not compile."""
AXES = {1: ("length",), 2: ("rows", "columns")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A translated kernel: its entry and the idioms it needs."""

    kernel: str
    entry: rust.Function
    idioms: frozenset[str]
    source: Source
    variant: Variant
    derived: tuple[Derived, ...]
    """Const generics that no parameter is."""
    untranslated: str | None = None
    """Why it comes from Tile IR and not from the source; None if it is translated."""


def translate_kernel(
    variant: Variant,
    readings: Sequence[Reading],
    sources: Mapping[str, Source],
    functions: Functions,
    *,
    declare: bool,
) -> Entry:
    """Raises `Untranslatable` naming the construct and its line.

    `functions` are the device functions that other kernels of the file have needed; it gets those of this one.
    """
    source = next(iter(sources.values()))
    own = dict(functions)
    facts = Facts(readings, variant.generics)
    shared = Shared(facts=facts, sources=dict(sources), declare=declare, functions=own, known=variant.known)
    body = Body(shared=shared, source=source, place=(), line=source.body[0].lineno - 1)
    parameters, constants = _parameters(body, variant, source, list(sources.values()))
    outside = [one for one in source.body if not isinstance(one, ast.For)]
    follow(body, (array for one in outside for array in ordered_arrays(body, one) if not array.pointer))
    run(body, source.body)
    body.blocks[0][:0] = tensors(body)
    body.blocks[0][:0] = _promises(body)
    guard = " and ".join(filter(None, [variant.guard, *(f"({one})" for one in dict.fromkeys(shared.assumed))]))
    variant = dataclasses.replace(variant, guard=guard)
    entry = _entry(variant, body, parameters, constants, source)
    functions.update(own)
    return Entry(
        kernel=variant.kernel,
        entry=entry,
        idioms=frozenset(shared.idioms),
        source=source,
        variant=variant,
        derived=tuple(shared.derived.values()),
    )


def _parameters(
    body: Body, variant: Variant, source: Source, device: list[Source]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Binds the kernel's parameters; the entry's, and its const generics with their types."""
    pointers = read_by_pointer(source, device)
    locals_ = {snake(n.id) for n in ast.walk(source.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    parameters: list[str] = []
    constants: list[tuple[str, str]] = []
    for parameter in variant.parameters:
        match parameter:
            case records.Array():
                parameters += _array(body, variant, parameter, parameter.name in pointers, locals_)
            case Scalar():
                name = rust_name(parameter.name, body.env, body.taken)
                body.env[parameter.name] = Number(expr=word(name), dtype=rust_element(parameter.dtype))
                body.taken.add(name)
                parameters.append(f"{name}: {rust_element(parameter.dtype)}")
            case Constant() if (value := variant.fixed.get(parameter.name)) is not None:
                expr = word(str(value))
                body.env[parameter.name] = Number(expr=expr, dtype="i32", literal=value, fixed=True, origin=str(value))
            case Constant():
                body.env[parameter.name] = _constant(body, parameter, constants)
            case _:
                raise Untranslatable(f"the parameter {parameter.name}: {parameter.text[:60]}")
    return parameters, constants


def read_by_pointer(source: Source, device: list[Source]) -> set[str]:
    """Arrays that `ct.gather` and the like take. In device functions they go by the parameter's name there."""
    found = set()
    for tree in (one.tree for one in [source, *device]):
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            if node.func.attr in POINTER_FUNCTIONS and isinstance(node.args[0], ast.Name):
                found.add(node.args[0].id)
    return found


def _array(body: Body, variant: Variant, parameter: records.Array, pointer: bool, locals_: set[str]) -> list[str]:
    name = rust_name(parameter.name, body.env, body.taken)
    if name != parameter.name and name in locals_:
        name = f"{name}_array"
    element = variant.elements[parameter.name]
    body.taken.add(name)
    if parameter.index_dtype != "int32":
        raise Untranslatable(f"{parameter.name}, which is indexed with {parameter.index_dtype}")
    if not pointer:
        body.env[parameter.name] = Array(name=name, element=element, rank=parameter.ndim, pointer=False)
        return [f"{name}: &Tensor<{element}, {{ [{', '.join(['-1'] * parameter.ndim)}] }}>"]
    axes = AXES.get(parameter.ndim, tuple(f"size_{axis}" for axis in range(parameter.ndim)))
    strides = {1: ("stride",), 2: ("row_stride", "column_stride")}.get(
        parameter.ndim, tuple(f"stride_{axis}" for axis in range(parameter.ndim))
    )
    array = Array(
        name=name,
        element=element,
        rank=parameter.ndim,
        pointer=True,
        sizes=tuple(f"{name}_{axis}" for axis in axes),
        strides=tuple(f"{name}_{stride}" for stride in strides),
        dense=variant.is_dense(parameter.name),
    )
    body.env[parameter.name] = array
    body.taken |= {*array.sizes, *array.strides}
    return [f"{name}: *mut {element}", *(f"{one}: i32" for one in (*array.sizes, *array.strides))]


def _constant(body: Body, parameter: Constant, constants: list[tuple[str, str]]) -> Value:
    name = constant_name(parameter.name)
    match parameter.type:
        case "int" if name in TAKEN:
            number = Number(expr=word(name), dtype="i32", fixed=True, origin=parameter.name, name=f"{name}_value")
            return as_generic(body, number, "i32")
        case "int":
            constants.append((name, "i32"))
            body.shared.generics[name] = parameter.name
            return Number(expr=word(name), dtype="i32", fixed=True, origin=parameter.name)
        case "bool":
            constants.append((name, "bool"))
            return Number(expr=word(name), dtype="bool", fixed=True, origin=parameter.name)
        case "float":
            constants.append((f"{name}_BITS", "i32"))
            local = rust_name(parameter.name, body.env, body.taken)
            body.emit(rust.Let((local,), call(body.idiom("f32_from_bits"), f"{name}_BITS")))
            body.taken.add(local)
            return Number(expr=word(local), dtype="f32", fixed=True, origin=parameter.name)
        case "NoneType":
            from tileport_skill.draft.values import Symbol

            return Symbol("None")
    raise Untranslatable(f"the constant {parameter.name} of type {parameter.type}")


def _entry(
    variant: Variant, body: Body, parameters: list[str], constants: list[tuple[str, str]], source: Source
) -> rust.Function:
    text = print_block(rust.Block(tuple(body.blocks[0])))
    derived = tuple(body.shared.derived.values())
    known = [*constants, *((one.generic, "i32" if one.type == "f32" else one.type) for one in derived)]
    used = [(name, kind) for name, kind in known if re.search(rf"\b{name}\b", text)]
    mma = body.shared.facts.mma_generics
    generics = [f"{name}: ElementType" for name in (*variant.generics, *mma)]
    generics += [f"const {name}: {kind}" for name, kind in used]
    tensors = any("&Tensor" in parameter for parameter in parameters)
    told = _which_calls(variant, after=bool(source.documentation))
    return rust.Function(
        name=function_name(variant.kernel),
        generics=tuple(generics),
        parameters=tuple(unused_marked(parameters, text)),
        returns=None,
        body=rust.Block(tuple(body.blocks[0])),
        documentation=(
            *source.documentation,
            *told,
            *derivations(derived, after=bool(source.documentation or told)),
            *safety(variant, parameters, after=bool(source.documentation or told or derived)),
        ),
        attributes=(f"#[cutile::entry({'unchecked_accesses = true' if tensors else ''})]",),
        qualifiers="pub unsafe ",
    )


def _which_calls(variant: Variant, *, after: bool) -> tuple[str, ...]:
    """The condition under which the wrapper launches this entry and no other of the kernel's."""
    if not variant.guard:
        return ()
    tree = ast.parse(variant.guard, mode="eval").body
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    said = [f"`{ast.unparse(part)}`" for part in parts]
    lines = textwrap.wrap(f"For calls where {' and '.join(said)}.", DOCUMENTATION, break_long_words=False)
    return ("", *lines) if after else tuple(lines)


def _promises(body: Body) -> list[rust.Stmt]:
    """Sizes and strides are never negative: said once, at the kernel's beginning, as cuTile Python says it."""
    text = print_block(rust.Block(tuple(body.blocks[0])))
    arrays = [value for value in body.env.values() if isinstance(value, Array) and value.pointer]
    names = [name for array in arrays for name in (*array.sizes, *array.needed_strides)]
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    return [rust.Let((name,), call(body.idiom("size_of"), name)) for name in used]


def unused_marked(parameters: list[str], text: str) -> list[str]:
    """Rust warns of parameters that nothing reads, unless their names begin with an underscore."""
    names = [parameter.split(":")[0] for parameter in parameters]
    return [
        parameter if re.search(rf"\b{name}\b", text) else f"_{parameter}"
        for name, parameter in zip(names, parameters, strict=True)
    ]


def derivations(derived: Sequence[Derived], *, after: bool) -> tuple[str, ...]:
    """What the caller passes for the generics that no parameter is; `emit/derived.py` reads these lines.

    `after` says whether other documentation stands above.
    """
    if not derived:
        return ()
    lines = ["", "# Generics"] if after else ["# Generics"]
    for one in derived:
        lines.append(f"`{one.generic}`: {'the bits of ' if one.type == 'f32' else ''}`{one.python}`")
    return tuple(lines)


def safety(variant: Variant, parameters: list[str], *, after: bool) -> tuple[str, ...]:
    pointers = any("*mut" in parameter for parameter in parameters)
    tensors = any("&Tensor" in parameter for parameter in parameters)
    lines = [""] if after else []
    lines.append("# Safety")
    if pointers:
        strided = [one.name for one in variant.parameters if not variant.is_dense(one.name)]
        but = f" but for `{'`, `'.join(strided)}`" if strided else ""
        lines.append(f"Pointers point to arrays of the given sizes and strides, whose last stride is 1{but}.")
    if tensors:
        lines.append("The grid covers the tensors' tiles and no more: accesses are not checked.")
    lines.append("No block writes what another reads or writes, and arrays do not overlap.")
    return tuple(lines)
