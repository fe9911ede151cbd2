"""From one variant of a kernel and the compiler's readings of it to a Rust entry."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tileport_skill.capture import records
from tileport_skill.capture.records import Constant, Scalar
from tileport_skill.draft import rust
from tileport_skill.draft.body import Body, Functions, Shared
from tileport_skill.draft.facts import Facts, rust_element
from tileport_skill.draft.naming import constant_name, function_name, rust_name, snake
from tileport_skill.draft.oracle.records import Reading
from tileport_skill.draft.rust import call, word
from tileport_skill.draft.source import Source
from tileport_skill.draft.statements import run
from tileport_skill.draft.tokens import follow, ordered_arrays
from tileport_skill.draft.values import Array, Number, Untranslatable, Value
from tileport_skill.draft.variant import Variant

POINTER_FUNCTIONS = ("gather", "scatter")
AXES = {1: ("length",), 2: ("rows", "columns")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A const generic that the host computes from the kernel's constants."""

    python: str
    float: bool
    """Whether it is an `f32`, which goes as its bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A translated kernel: its entry and the idioms it needs."""

    kernel: str
    entry: rust.Function
    idioms: frozenset[str]
    source: Source
    variant: Variant
    guard: tuple[str, ...] | None = None
    """The calls that it is for, as Python conditions on the kernel's arguments; None if for all of them."""
    derived: Mapping[str, Derived] = field(default_factory=dict)
    """What its const generics are, where they are not the kernel's constants of those names."""
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
    shared = Shared(facts=facts, sources=dict(sources), declare=declare, functions=own)
    body = Body(shared=shared, source=source, place=(), line=source.body[0].lineno - 1)
    parameters, constants = _parameters(body, variant, source, list(sources.values()))
    outside = [one for one in source.body if not isinstance(one, ast.For)]
    follow(body, (array for one in outside for array in ordered_arrays(body, one) if not array.pointer))
    run(body, source.body)
    entry = _entry(variant, body, parameters, constants, source)
    functions.update(own)
    return Entry(kernel=variant.kernel, entry=entry, idioms=frozenset(shared.idioms), source=source, variant=variant)


def _parameters(
    body: Body, variant: Variant, source: Source, device: list[Source]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Binds the kernel's parameters; the entry's, and its const generics with their types."""
    pointers = _read_by_pointer(source, device)
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
            case Constant():
                body.env[parameter.name] = _constant(body, parameter, constants)
            case _:
                raise Untranslatable(f"the parameter {parameter.name}: {parameter.text[:60]}")
    return parameters, constants


def _read_by_pointer(source: Source, device: list[Source]) -> set[str]:
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
    if parameter.stride_constant[-1] != 1:
        raise Untranslatable(f"{parameter.name}, whose last stride is not always 1")
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
    )
    body.env[parameter.name] = array
    body.taken |= {*array.sizes, *array.strides}
    return [f"{name}: *mut {element}", *(f"{one}: i32" for one in (*array.sizes, *array.strides))]


def _constant(body: Body, parameter: Constant, constants: list[tuple[str, str]]) -> Value:
    name = constant_name(parameter.name)
    match parameter.type:
        case "int":
            constants.append((name, "i32"))
            return Number(expr=word(name), dtype="i32", fixed=True)
        case "bool":
            constants.append((name, "bool"))
            return Number(expr=word(name), dtype="bool", fixed=True)
        case "float":
            constants.append((f"{name}_BITS", "i32"))
            local = rust_name(parameter.name, body.env, body.taken)
            body.emit(rust.Let((local,), call(body.idiom("f32_from_bits"), f"{name}_BITS")))
            body.taken.add(local)
            return Number(expr=word(local), dtype="f32", fixed=True)
        case "NoneType":
            from tileport_skill.draft.values import Symbol

            return Symbol("None")
    raise Untranslatable(f"the constant {parameter.name} of type {parameter.type}")


def _entry(
    variant: Variant, body: Body, parameters: list[str], constants: list[tuple[str, str]], source: Source
) -> rust.Function:
    from tileport_skill.draft.printer import print_block

    text = print_block(rust.Block(tuple(body.blocks[0])))
    used = [(name, kind) for name, kind in constants if re.search(rf"\b{name}\b", text)]
    mma = body.shared.facts.mma_generics
    generics = [f"{name}: ElementType" for name in (*variant.generics, *mma)]
    generics += [f"const {name}: {kind}" for name, kind in used]
    tensors = any("&Tensor" in parameter for parameter in parameters)
    return rust.Function(
        name=function_name(variant.kernel),
        generics=tuple(generics),
        parameters=tuple(unused_marked(parameters, text)),
        returns=None,
        body=rust.Block(tuple(body.blocks[0])),
        documentation=(*source.documentation, *safety(parameters, source)),
        attributes=(f"#[cutile::entry({'unchecked_accesses = true' if tensors else ''})]",),
        qualifiers="pub unsafe ",
    )


def unused_marked(parameters: list[str], text: str) -> list[str]:
    """Rust warns of parameters that nothing reads, unless their names begin with an underscore."""
    names = [parameter.split(":")[0] for parameter in parameters]
    return [
        parameter if re.search(rf"\b{name}\b", text) else f"_{parameter}"
        for name, parameter in zip(names, parameters, strict=True)
    ]


def safety(parameters: list[str], source: Source) -> tuple[str, ...]:
    pointers = any("*mut" in parameter for parameter in parameters)
    tensors = any("&Tensor" in parameter for parameter in parameters)
    lines = [""] if source.documentation else []
    lines.append("# Safety")
    if pointers:
        lines.append("Pointers point to arrays of the given sizes and strides, whose last stride is 1.")
    if tensors:
        lines.append("The grid covers the tensors' tiles and no more: accesses are not checked.")
    lines.append("No block writes what another reads or writes, and arrays do not overlap.")
    return tuple(lines)
