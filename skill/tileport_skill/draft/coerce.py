"""One value made to fit another: broadcast, converted, a number spread over a tile."""

from __future__ import annotations

import dataclasses

from tileport_skill.draft import rust
from tileport_skill.draft.body import Body
from tileport_skill.draft.derived import settled
from tileport_skill.draft.rust import Expr, Method, Word, call, word
from tileport_skill.draft.values import Dims, Number, Product, Tile, Untranslatable, Value


def as_tile(body: Body, value: Value, element: str, dims: Dims) -> Tile:
    """`value` as a tile of `element` and `dims`; cuTile's implicit conversions are spelled out."""
    match value:
        case Product():
            return as_tile(body, plain_product(body, value), element, dims)
        case Number(literal=int() | float() as literal) if not isinstance(literal, bool) or element == "bool":
            return body.literal(literal, element, dims, value.name)
        case Number():
            scalar = _as_word(body, as_scalar(body, value, element))
            if not dims:
                return Tile(expr=call("scalar_to_tile", scalar.expr), element=element, dims=dims, typed=False)
            return Tile(expr=call("broadcast_scalar", scalar.expr, rust.shape(dims)), element=element, dims=dims)
        case Tile():
            return spread(body, converted(body, value, element), dims)
    raise Untranslatable(f"a {type(value).__name__.lower()} where a tile is needed")


def _as_word(body: Body, value: Number) -> Number:
    """`value` under a name: inside a call, Rust's compiler for tiles takes literals for the call's own type."""
    if isinstance(value.expr, Word):
        return value
    name, body.target = body.target, None
    name = body.free("scalar") if name is None else name
    body.emit(rust.Let((name,), value.expr))
    return dataclasses.replace(value, expr=word(name))


def converted(body: Body, value: Tile, element: str) -> Tile:
    """`value` with another element type; the same tile if it has it."""
    if value.element == element:
        return value
    inner = body.named(value, "tile")
    return Tile(expr=call("convert_tile", inner.expr), element=element, dims=value.dims, typed=False)


def spread(body: Body, value: Tile, dims: Dims) -> Tile:
    """`value` broadcast to `dims`."""
    if value.dims == dims:
        return value
    inner = body.named(value, f"{name_of(value.expr)}_tile")
    expr: Expr = inner.expr
    aligned = ("1",) * (len(dims) - len(value.dims)) + value.dims
    if len(aligned) != len(dims) or any(a not in (b, "1") for a, b in zip(aligned, dims, strict=True)):
        raise Untranslatable(f"a tile of {value.dims} where one of {dims} is needed")
    if aligned != value.dims:
        expr = Method(expr, "reshape", (rust.shape(aligned),))
    if aligned != dims:
        expr = Method(expr, "broadcast", (rust.shape(dims),))
    return dataclasses.replace(inner, expr=expr, dims=dims)


def as_scalar(body: Body, value: Value, dtype: str) -> Number:
    """`value` as a Rust scalar of type `dtype`."""
    if isinstance(value, Number):
        value = settled(body, value)
    match value:
        case Number(dtype=own) if own == dtype:
            return value
        case Number(literal=int() | float() as literal):
            return dataclasses.replace(value, expr=_scalar_literal(float(literal), dtype), dtype=dtype)
        case Number():
            base = name_of(value.expr) if isinstance(value.expr, Word) else (body.target or "value")
            name = body.free(f"{base}_{dtype.lower()}")
            body.emit(rust.Let((name,), call("convert_scalar", value.expr), dtype))
            return dataclasses.replace(value, expr=word(name), dtype=dtype)
        case Tile(dims=()):
            inner = body.named(value, name_of(value.expr))
            name = body.free(f"{name_of(inner.expr)}_value")
            body.emit(rust.Let((name,), call("tile_to_scalar", inner.expr), value.element))
            return as_scalar(body, Number(expr=word(name), dtype=value.element), dtype)
    raise Untranslatable(f"a {type(value).__name__.lower()} where a number is needed")


def _scalar_literal(value: float, dtype: str) -> Word:
    if dtype.startswith("f"):
        return word(f"{value!r}{dtype}")
    return word(str(int(value)))


def name_of(expr: Expr) -> str:
    """A word for what `expr` is, to build another name from."""
    match expr:
        case Word(text):
            kept = "".join(c if c.isalnum() or c == "_" else "_" for c in text).strip("_").lower()
            return kept if kept[:1].isalpha() else "value"
        case rust.Method(receiver=receiver):
            return name_of(receiver)
    return "tile"


def broadcast_dims(left: Dims, right: Dims) -> Dims:
    """The shape of an operation on tiles of `left` and `right`."""
    rank = max(len(left), len(right))
    a, b = ("1",) * (rank - len(left)) + left, ("1",) * (rank - len(right)) + right
    return tuple(y if x == "1" else x for x, y in zip(a, b, strict=True))


def plain_product(body: Body, value: Product) -> Tile:
    """A product that is needed as such after all."""
    return Tile(
        expr=rust.Binary("*", value.left.expr, value.right.expr), element=value.left.element, dims=value.left.dims
    )


def dims_of(value: Value) -> Dims:
    return value.dims if isinstance(value, Tile) else value.left.dims if isinstance(value, Product) else ()
