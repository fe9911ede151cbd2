"""Expressions: names, operators, comparisons, subscripts. Calls are in `calls/`."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from tileport_skill.draft import rust
from tileport_skill.draft.arithmetic import binary, compare, compare_numbers, negative
from tileport_skill.draft.body import Body, literal_text
from tileport_skill.draft.coerce import as_scalar
from tileport_skill.draft.derived import as_generic, origin_of, settled
from tileport_skill.draft.naming import snake
from tileport_skill.draft.rust import Method, word
from tileport_skill.draft.values import Apart, Array, Dims, Items, Number, Symbol, Tile, Untranslatable, Value


def translate(body: Body, node: ast.expr) -> Value:
    """The value of `node`; what it needs first is written to `body`."""
    try:
        return _translate(body, node)
    except Untranslatable as error:
        raise error.at(node.lineno) from error


def _translate(body: Body, node: ast.expr) -> Value:
    match node:
        case ast.Name() if node.id in body.env:
            return body.env[node.id]
        case ast.Constant() | ast.Name() | ast.Attribute():
            return _named(body, node)
        case ast.Tuple() | ast.List():
            return Items(tuple(translate(body, item) for item in node.elts))
        case ast.Subscript():
            return _subscript(body, node)
        case ast.Call():
            from tileport_skill.draft.calls import translate_call

            return translate_call(body, node)
    return _symbol(body, node) or _folded(body, node) or _operator(body, node)


def _operator(body: Body, node: ast.expr) -> Value:
    match node:
        case ast.BinOp():
            return binary(body, node, translate(body, node.left), translate(body, node.right))
        case ast.UnaryOp():
            return _unary(body, node)
        case ast.Compare():
            return _compare(body, node)
        case ast.BoolOp():
            return _bool_op(body, node)
        case ast.IfExp():
            return _if_expression(body, node)
    raise Untranslatable(f"the expression `{ast.unparse(node)[:60]}`")


def _named(body: Body, node: ast.expr) -> Value:
    """A literal, a global, or something's attribute."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str)):
        return Symbol(repr(node.value))
    found = _symbol(body, node)
    if found is not None:
        return found
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype"):
        owner = translate(body, node.value)
        if isinstance(owner, Array) and node.attr == "shape":
            return _array_shape(owner)
        if isinstance(owner, Tile) and node.attr == "shape":
            return Items(tuple(_size(body, dim) for dim in owner.dims))
    if isinstance(node, ast.Name) and node.id in body.shared.one_sided:
        raise Apart(f"`{node.id}`, which one arm of a branch assigns", body.shared.one_sided[node.id])
    seen = body.seen(node)
    value = seen.constant
    if isinstance(value, (bool, int, float)):
        return number(value, snake(node.id) if isinstance(node, ast.Name) else None)
    if isinstance(value, str):
        return Symbol(repr(value))
    raise Untranslatable(f"`{ast.unparse(node)[:60]}`")


def number(value: bool | int | float, name: str | None = None) -> Number:
    dtype = "bool" if isinstance(value, bool) else "i32" if isinstance(value, int) else "f32"
    expr = word(str(value)) if dtype == "i32" else literal_text(value, dtype)
    origin = repr(value) if math.isfinite(value) else None
    return Number(expr=expr, dtype=dtype, literal=value, fixed=True, name=name, origin=origin)


def _size(body: Body, dim: str) -> Number:
    if dim.isdigit():
        return number(int(dim))
    return Number(expr=word(dim), dtype="i32", fixed=True, origin=body.shared.generics.get(dim))


def _array_shape(array: Array) -> Items:
    if array.pointer:
        return Items(tuple(Number(expr=word(size), dtype="i32") for size in array.sizes))
    shape = Method(word(array.name), "shape")
    return Items(tuple(Number(expr=word(f"{shape.flat}[{axis}]"), dtype="i32") for axis in range(array.rank)))


def _symbol(body: Body, node: ast.expr) -> Symbol | None:
    """What `node` names, if it names something in every specialisation."""
    seen = body.maybe(node)
    symbols = seen.symbols if seen is not None else {}
    if not symbols or seen is None or len(symbols) != len(seen.nodes):
        return None
    if all(text.startswith("dtype ") for text in symbols.values()):
        element = body.shared.facts.element({i: text.removeprefix("dtype ") for i, text in symbols.items()})
        return Symbol(f"element {element}")
    if len(set(symbols.values())) > 1:
        raise Untranslatable(f"`{ast.unparse(node)[:60]}` is one of {', '.join(sorted(set(symbols.values())))}")
    return Symbol(next(iter(symbols.values())))


def _folded(body: Body, node: ast.expr) -> Number | None:
    """The value of `node`, if it is one number in every specialisation and none of the kernel's generics is in it."""
    seen = body.maybe(node)
    value = seen.constant if seen is not None else None
    if not isinstance(value, (bool, int, float)) or _depends(body, node):
        return None
    return number(value)


def _depends(body: Body, node: ast.expr) -> bool:
    """Whether a name in `node` stands for something that is not one literal."""
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in body.env}
    values = [body.env[name] for name in names]
    return any(not (isinstance(v, Number) and v.literal is not None) and not isinstance(v, Symbol) for v in values)


def _unary(body: Body, node: ast.UnaryOp) -> Value:
    value = truth(body, node.operand) if isinstance(node.op, ast.Not) else translate(body, node.operand)
    if isinstance(node.op, ast.USub):
        return negative(body, value)
    if isinstance(node.op, ast.UAdd):
        return value
    if isinstance(node.op, ast.Not) and isinstance(value, Number) and value.dtype == "bool":
        value = settled(body, value)
        expr = rust.Binary("==", value.expr, word("false"))
        return Number(expr=expr, dtype="bool", fixed=value.fixed, origin=origin_of("not {}", value))
    raise Untranslatable(f"the operator of `{ast.unparse(node)[:60]}`")


def _compare(body: Body, node: ast.Compare) -> Value:
    if len(node.ops) != 1:
        raise Untranslatable("a chain of comparisons")
    return compare(body, node.ops[0], translate(body, node.left), translate(body, node.comparators[0]))


def _bool_op(body: Body, node: ast.BoolOp) -> Value:
    operator = "&&" if isinstance(node.op, ast.And) else "||"
    parts = [settled(body, truth(body, part)) for part in node.values]
    kept = [part for part in parts if part.literal is None] or parts[:1]
    expr = kept[0].expr
    for part in kept[1:]:
        expr = rust.Binary(operator, expr, part.expr)
    origin = origin_of((" and " if operator == "&&" else " or ").join(["{}"] * len(kept)), *kept)
    return Number(expr=expr, dtype="bool", fixed=all(part.fixed for part in parts), origin=origin)


def truth(body: Body, node: ast.expr) -> Number:
    """`node` where Python asks whether it is true; a whole number is, unless it is 0."""
    value = translate(body, node)
    if isinstance(value, Number) and value.literal is not None:
        return number(bool(value.literal))
    if isinstance(value, Symbol) and value.text == "None":
        return number(False)
    if isinstance(value, Number) and value.dtype == "i32":
        return compare_numbers(body, "!=", value, number(0))
    if not isinstance(value, Number) or value.dtype != "bool":
        raise Untranslatable(f"the condition `{ast.unparse(node)[:60]}`")
    return value


def _if_expression(body: Body, node: ast.IfExp) -> Value:
    """Python chooses one of two numbers; so does Rust."""
    condition = truth(body, node.test)
    if isinstance(condition.literal, bool):
        return translate(body, node.body if condition.literal else node.orelse)
    then, otherwise = translate(body, node.body), translate(body, node.orelse)
    if not (isinstance(then, Number) and isinstance(otherwise, Number)):
        raise Untranslatable(f"the choice `{ast.unparse(node)[:60]}`")
    condition = settled(body, condition)
    dtype = then.dtype if then.literal is None else otherwise.dtype
    arms = [rust.Block((), as_scalar(body, arm, dtype).expr) for arm in (then, otherwise)]
    fixed = condition.fixed and then.fixed and otherwise.fixed
    origin = origin_of("{} if {} else {}", then, condition, otherwise)
    return Number(expr=rust.If(condition.expr, arms[0], arms[1]), dtype=dtype, fixed=fixed, origin=origin)


def _subscript(body: Body, node: ast.Subscript) -> Value:
    owner = translate(body, node.value)
    if isinstance(owner, Items):
        index = translate(body, node.slice)
        if isinstance(index, Number) and isinstance(index.literal, int):
            return owner.items[index.literal]
    if isinstance(owner, Tile):
        return _expanded(body, owner, node)
    raise Untranslatable(f"the subscript `{ast.unparse(node)[:60]}`")


def _expanded(body: Body, owner: Tile, node: ast.Subscript) -> Tile:
    """`tile[:, None]`: axes of size one put in."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    left = list(owner.dims)
    dims: list[str] = []
    for part in parts:
        if isinstance(part, ast.Constant) and part.value is None:
            dims.append("1")
        elif isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None and left:
            dims.append(left.pop(0))
        else:
            raise Untranslatable(f"the subscript `{ast.unparse(node)[:60]}`")
    return reshaped(body, owner, (*dims, *left))


def reshaped(body: Body, value: Tile, dims: Dims) -> Tile:
    if value.dims == dims:
        return value
    inner = body.named(value, "flat")
    made = Method(inner.expr, "reshape", (rust.shape(dims),))
    return Tile(expr=made, element=value.element, dims=dims, typed=False)


def dims_from(body: Body, values: Sequence[Value] | Value) -> Dims:
    """A shape argument as sizes in a Rust type: each a literal or a const generic."""
    items = values.items if isinstance(values, Items) else values if isinstance(values, Sequence) else (values,)
    return tuple(_dim(body, item) for item in items)


def _dim(body: Body, value: Value) -> str:
    if isinstance(value, Number) and isinstance(value.literal, int):
        return str(value.literal)
    if isinstance(value, Number) and value.dtype == "i32" and value.origin is not None:
        known = [generic for generic, origin in body.shared.generics.items() if origin == value.origin]
        if known and (body.entry or value.expr == word(known[0])):  # a device function has those of its tiles
            return known[0]
        return as_generic(body, value, "i32").expr.flat
    if isinstance(value, Number) and value.fixed and isinstance(value.expr, rust.Word) and value.expr.text.isupper():
        return value.expr.text
    raise Untranslatable("a tile size that is computed from others, which Rust's types cannot say")
