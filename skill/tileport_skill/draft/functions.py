"""The source's own device functions: a Rust function where Rust can take the arguments, else written out in place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tileport_skill.draft import rust
from tileport_skill.draft.body import Body
from tileport_skill.draft.derived import OutsideEntry, settled
from tileport_skill.draft.expressions import translate
from tileport_skill.draft.naming import function_name, rust_name
from tileport_skill.draft.rust import Call, Expr, word
from tileport_skill.draft.source import Source
from tileport_skill.draft.values import Array, Items, Number, Product, Symbol, Tile, Untranslatable, Value


def call_function(body: Body, node: ast.Call, key: str) -> Value:
    """The value of a call of the device function that stands at `key`, `file:line`."""
    source = body.shared.sources.get(key)
    if source is None:
        raise Untranslatable(f"`{ast.unparse(node.func)}`, whose source was not found")
    arguments = _arguments(body, node, source)
    if any(isinstance(value, (Array, Items)) for value in arguments.values()):
        return _in_place(body, node, source, arguments)
    try:
        return _as_function(body, node, source, arguments)
    except (_Merged, OutsideEntry):
        return _in_place(body, node, source, arguments)


class _Merged(Exception):
    """The function's result is a product that its caller merges into a sum, so it cannot stand by itself."""


def _arguments(body: Body, node: ast.Call, source: Source) -> dict[str, Value]:
    parameters = [argument.arg for argument in source.tree.args.args]
    if source.tree.args.vararg or source.tree.args.kwarg or source.tree.args.kwonlyargs:
        raise Untranslatable(f"{source.tree.name}, which takes any number of arguments")
    found = dict(zip(parameters, (translate(body, argument) for argument in node.args), strict=False))
    for keyword in node.keywords:
        if keyword.arg is None:
            raise Untranslatable(f"{source.tree.name} called with `**`")
        found[keyword.arg] = translate(body, keyword.value)
    defaults = source.tree.args.defaults
    for parameter, default in zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True):
        if parameter not in found:
            found[parameter] = translate(body, default)
    return {name: found[name] for name in parameters}


def _in_place(body: Body, node: ast.Call, source: Source, arguments: dict[str, Value]) -> Value:
    from tileport_skill.draft.statements import run

    inner = Body(
        shared=body.shared,
        source=source,
        place=body.where(node),
        env=dict(arguments),
        blocks=body.blocks,
        taken=body.taken,
        literals=body.literals,
        line=source.body[0].lineno - 1,
        orders=body.orders,
        loops=[set() for _ in body.loops],
        entry=body.entry,
    )
    run(inner, source.body)
    return inner.returned or Symbol("None")


def _as_function(body: Body, node: ast.Call, source: Source, arguments: dict[str, Value]) -> Value:
    given = {name: _given(body, value, name) for name, value in arguments.items()}
    key = (str(source.file), source.tree.lineno, tuple((name, _kind(value)) for name, value in given.items()))
    if key not in body.shared.functions:
        body.shared.functions[key] = _translated(body, node, source, given)
    function, result = body.shared.functions[key]
    taken = {parameter.split(":")[0] for parameter in function.parameters}
    parts: list[Expr] = [v.expr for v in given.values() if isinstance(v, (Tile, Number)) and _word_of(v, taken, given)]
    return _result(body, result, Call(function.name, tuple(parts)))


def _given(body: Body, value: Value, name: str) -> Value:
    if isinstance(value, Product):
        from tileport_skill.draft.coerce import plain_product

        value = plain_product(body, value)
    if isinstance(value, Number):
        return settled(body, value)
    return body.named(value, name) if isinstance(value, Tile) else value


def _kind(value: Value) -> str:
    match value:
        case Tile():
            return value.type
        case Number(literal=None, fixed=True):
            return value.expr.flat
        case Number(literal=None):
            return value.dtype
        case Number():
            return repr(value.literal)
        case Symbol():
            return value.text
    raise Untranslatable(f"a {type(value).__name__.lower()} as an argument of a device function")


def _word_of(value: Tile | Number, taken: set[str], given: dict[str, Value]) -> bool:
    """Whether `value` is passed: literals and const generics that the tiles' types tell are not."""
    names = [name for name, other in given.items() if other is value]
    return any(rust_name(name, {}, ()) in taken for name in names)


def _translated(body: Body, node: ast.Call, source: Source, given: dict[str, Value]) -> tuple[rust.Function, Value]:
    from tileport_skill.draft.statements import run

    told = {dim for value in given.values() if isinstance(value, Tile) for dim in value.dims}
    place, line = body.where(node), source.body[0].lineno - 1
    inner = Body(shared=body.shared, source=source, place=place, line=line, entry=False)
    parameters = []
    for name, value in given.items():
        bound = _parameter(inner, name, value, told)
        if bound is not None:
            parameters.append(bound)
    run(inner, source.body)
    result = inner.returned
    if result is None:
        raise Untranslatable(f"{source.tree.name}, which returns nothing", source.tree.lineno)
    if isinstance(result, Product):
        raise _Merged
    returns, expr = _returned(inner, result)
    types = [*parameters, returns]
    function = rust.Function(
        name=_free_name(body, function_name(source.tree.name)),
        generics=tuple(_generics(types)),
        parameters=tuple(parameters),
        returns=returns,
        body=rust.Block(tuple(inner.blocks[0]), expr),
        documentation=source.documentation,
    )
    return function, result


def _parameter(inner: Body, name: str, value: Value, told: set[str]) -> str | None:
    """Binds one parameter in `inner`; its declaration, if Rust needs one."""
    word_ = rust_name(name, inner.env, inner.taken)
    match value:
        case Tile():
            inner.env[name] = Tile(expr=word(word_), element=value.element, dims=value.dims)
            inner.taken.add(word_)
            return f"{word_}: {value.type}"
        case Number(literal=None) if not (value.fixed and value.expr.flat in told):
            inner.env[name] = Number(expr=word(word_), dtype=value.dtype)
            inner.taken.add(word_)
            return f"{word_}: {value.dtype}"
        case _:
            inner.env[name] = value
            return None


def _returned(inner: Body, result: Value) -> tuple[str, Expr]:
    match result:
        case Tile():
            named = inner.named(result, "result")
            return named.type, named.expr
        case Number():
            return result.dtype, result.expr
        case Items():
            if not all(isinstance(item, Number) for item in result.items):
                raise Untranslatable("a device function that returns a tuple of tiles", inner.source.tree.lineno)
            types = [item.dtype for item in result.items if isinstance(item, Number)]
            parts = [item.expr for item in result.items if isinstance(item, Number)]
            return f"({', '.join(types)})", Call("", tuple(parts))
    raise Untranslatable("a device function that returns neither tile nor number", inner.source.tree.lineno)


def _result(body: Body, result: Value, made: Call) -> Value:
    match result:
        case Tile():
            return Tile(expr=made, element=result.element, dims=result.dims)
        case Number():
            return Number(expr=made, dtype=result.dtype)
        case Items():
            names = tuple(body.free(f"part_{index}") for index in range(len(result.items)))
            body.emit(rust.Let(names, made))
            numbers = zip(names, result.items, strict=True)
            return Items(tuple(Number(expr=word(n), dtype=i.dtype) for n, i in numbers if isinstance(i, Number)))
    raise Untranslatable("a device function that returns neither tile nor number")


def _generics(types: Iterable[str]) -> list[str]:
    """The type generics and const generics that stand in `types`, in order."""
    words = dict.fromkeys(re.findall(r"\b[A-Z][A-Za-z0-9_]*\b", " ".join(types)))
    names = [name for name in words if name not in ("Tile", "Tensor", "Token")]
    kinds = [name for name in names if re.search(rf"(Tile<|: |\* ?mut ){name}\b", " ".join(types))]
    return [*(f"{name}: ElementType" for name in kinds), *(f"const {name}: i32" for name in names if name not in kinds)]


def _free_name(body: Body, wanted: str) -> str:
    taken = {function.name for function, _ in body.shared.functions.values()}
    name, more = wanted, 2
    while name in taken:
        name, more = f"{wanted}_{more}", more + 1
    return name
