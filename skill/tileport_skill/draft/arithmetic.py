"""Operators on numbers and tiles. Whether a product is merged into a sum is the compiler's word, not decided here."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable

from tileport_skill.draft import rust
from tileport_skill.draft.body import Body
from tileport_skill.draft.coerce import as_scalar, as_tile, broadcast_dims, dims_of, plain_product, whole
from tileport_skill.draft.derived import origin_of, pending
from tileport_skill.draft.rust import Binary, Expr, call, word
from tileport_skill.draft.values import Number, Product, Tile, Untranslatable, Value

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "lt_tile"),
    ast.LtE: ("<=", "le_tile"),
    ast.Gt: (">", "gt_tile"),
    ast.GtE: (">=", "ge_tile"),
    ast.Eq: ("==", "eq_tile"),
    ast.NotEq: ("!=", "ne_tile"),
}
FOLDED: dict[str, Callable[[float, float], bool]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
    "==": operators.eq,
    "!=": operators.ne,
}
MODES = "rounding::NearestEven, ftz::Disabled"
FLOATS = frozenset({"f16", "bf16", "f32", "f64", "tf32"})


def binary(body: Body, node: ast.BinOp, left: Value, right: Value) -> Value:
    """`left op right`."""
    operator = OPERATORS.get(type(node.op))
    if operator is None:
        raise Untranslatable(f"the operator of `{ast.unparse(node)[:60]}`")
    left, right = whole(body, left), whole(body, right)
    if isinstance(left, Number) and isinstance(right, Number):
        # Asked whether it is true, `STAGE & 1` has the place in the source that the compiler gives the answer's type.
        whole_bits = operator in "&|^" and left.dtype == right.dtype == "i32"
        return _numbers(body, operator, left, right, "i32" if whole_bits else _element(body, node))
    where = body.where(node)
    if where in body.shared.facts.fused:
        return fused(body, node, operator, left, right)
    result = on_tiles(body, operator, left, right, _element(body, node))
    if where in body.shared.facts.products:
        assert isinstance(result, Product)
        return result
    return plain_product(body, result) if isinstance(result, Product) else result


def _element(body: Body, node: ast.expr) -> str:
    return body.shared.facts.element(body.seen(node).dtypes)


def on_tiles(body: Body, operator: str, left: Value, right: Value, element: str) -> Tile | Product:
    dims = broadcast_dims(dims_of(left), dims_of(right))
    a = body.named(as_tile(body, left, element, dims), "left")
    b = body.named(as_tile(body, right, element, dims), "right")
    if operator == "*":
        return Product(left=a, right=b)
    if operator in ("//", "%") or (operator == "/" and element not in FLOATS and not is_generic(element)):
        raise Untranslatable(f"the operator {operator} on tiles of {element}")
    return Tile(expr=Binary(operator, a.expr, b.expr), element=element, dims=dims)


def is_generic(element: str) -> bool:
    return element[:1].isupper()


def fused(body: Body, node: ast.BinOp, operator: str, left: Value, right: Value) -> Tile:
    """A multiplication and an addition in one, rounded once, as the compiler merged them."""
    element = _element(body, node)
    product, other = (left, right) if _is_merged(body, node, left) else (right, left)
    if not isinstance(product, Product):
        raise Untranslatable("a multiplication that the compiler merged into a sum elsewhere")
    dims = broadcast_dims(dims_of(left), dims_of(right))
    if product.left.dims != dims:
        raise Untranslatable("a merged multiplication that is broadcast")
    a, b = product.left, product.right
    c = body.named(as_tile(body, other, element, dims), "summand")
    if operator == "-":
        a, c = (a, _negated(c)) if product is left else (_negated(a), c)
    expr = rust.Call("fma", (a.expr, b.expr, c.expr, *map(word, MODES.split(", "))))
    return Tile(expr=expr, element=element, dims=dims)


def _is_merged(body: Body, node: ast.BinOp, value: Value) -> bool:
    """Whether `value`, the left operand, is the product that was merged: the left one is, if both could be."""
    return isinstance(value, Product)


def _negated(value: Tile) -> Tile:
    return Tile(expr=call("negf", value.expr), element=value.element, dims=value.dims)


def _numbers(body: Body, operator: str, left: Number, right: Number, element: str) -> Number:
    origin = origin_of(f"{{}} {operator} {{}}", left, right)
    if origin is not None and element == "f32":
        return pending(origin, "f32")
    a, b = as_scalar(body, left, element), as_scalar(body, right, element)
    fixed = left.fixed and right.fixed
    if operator == "%" and element == "i32" and not fixed:
        return _modulo(body, a, b)
    expr: Expr = Binary("/" if operator == "//" else operator, a.expr, b.expr)
    return Number(expr=expr, dtype=element, fixed=fixed, origin=origin)


def _modulo(body: Body, a: Number, b: Number) -> Number:
    return Number(expr=call(body.idiom("floor_mod"), a.expr, b.expr), dtype="i32")


def compare(body: Body, operator: ast.cmpop, left: Value, right: Value) -> Value:
    known = COMPARISONS.get(type(operator))
    if known is None:
        raise Untranslatable(f"the comparison {type(operator).__name__}")
    left, right = whole(body, left), whole(body, right)
    if isinstance(left, Number) and isinstance(right, Number):
        return compare_numbers(body, known[0], left, right)
    dims = broadcast_dims(dims_of(left), dims_of(right))
    tiles = [value for value in (left, right) if isinstance(value, Tile)]
    if not tiles:
        raise Untranslatable("a comparison of what are neither tiles nor numbers")
    element = tiles[0].element
    a_tile = body.named(as_tile(body, left, element, dims), "left")
    b_tile = body.named(as_tile(body, right, element, dims), "right")
    return Tile(expr=call(known[1], a_tile.expr, b_tile.expr), element="bool", dims=dims)


def compare_numbers(body: Body, operator: str, left: Number, right: Number) -> Number:
    if left.literal is not None and right.literal is not None:
        holds = FOLDED[operator](left.literal, right.literal)
        return Number(expr=word(str(holds).lower()), dtype="bool", literal=holds, fixed=True, origin=str(holds))
    origin = origin_of(f"{{}} {operator} {{}}", left, right)
    if origin is not None and "f32" in (left.dtype, right.dtype):
        return pending(origin, "bool")
    dtype = left.dtype if left.literal is None else right.dtype
    a, b = as_scalar(body, left, dtype), as_scalar(body, right, dtype)
    fixed = left.fixed and right.fixed
    return Number(expr=Binary(operator, a.expr, b.expr), dtype="bool", fixed=fixed, origin=origin)


def negative(body: Body, value: Value) -> Value:
    match value:
        case Number(literal=int() | float() as literal):
            from tileport_skill.draft.expressions import number

            return number(-literal)
        case Number():
            origin = origin_of("-{}", value)
            if origin is not None and value.dtype == "f32":
                return pending(origin, "f32")
            negated = Binary("-", word("0"), value.expr)
            return Number(expr=negated, dtype=value.dtype, fixed=value.fixed, origin=origin)
        case Product():
            return negative(body, plain_product(body, value))
        case Tile():
            inner = body.named(value, "positive")
            integer = value.element[:1] in ("i", "u")
            return Tile(expr=call("negi" if integer else "negf", inner.expr), element=value.element, dims=value.dims)
    raise Untranslatable("the negative of what is no number")
