"""Functions of every element: arithmetic by name, exponentials, choices."""

from __future__ import annotations

import ast

from tileport_skill.draft import rust
from tileport_skill.draft.arithmetic import FLOATS, compare, is_generic, negative, on_tiles
from tileport_skill.draft.body import Body
from tileport_skill.draft.calls.site import Handler, Site, handles
from tileport_skill.draft.coerce import as_scalar, as_tile, broadcast_dims, dims_of, plain_product, whole
from tileport_skill.draft.derived import origin_of
from tileport_skill.draft.expressions import number
from tileport_skill.draft.idioms import is_idiom
from tileport_skill.draft.naming import literal_name
from tileport_skill.draft.rust import Binary, Call, Expr, call, word
from tileport_skill.draft.values import Number, Product, Tile, Untranslatable, Value

ROUNDING = {
    "RoundingMode.RN": "NearestEven",
    "RoundingMode.APPROX": "Approx",
    "RoundingMode.FULL": "Full",
    "RoundingMode.RZ": "Zero",
    "RoundingMode.RM": "NegativeInf",
    "RoundingMode.RP": "PositiveInf",
}
NEAREST = "RoundingMode.RN"
NAMED_OPERATORS = {"add": ("+", "addf"), "sub": ("-", "subf"), "mul": ("*", "mulf"), "truediv": ("/", "divf")}


def _rounding(site: Site) -> str:
    return ROUNDING[site.symbol("rounding_mode", NEAREST)]


def _ftz(site: Site) -> str:
    return "ftz::Enabled" if site.known_flag("flush_to_zero") else "ftz::Disabled"


def _named_operator(name: str) -> Handler:
    operator, function = NAMED_OPERATORS[name]

    def handler(site: Site) -> Value:
        left, right, element = site.value("x"), site.value("y"), site.element
        made = on_tiles(site.body, operator, left, right, element)
        rounding, ftz = _rounding(site), _ftz(site)
        if (rounding, ftz) == ("NearestEven", "ftz::Disabled"):
            return plain_product(site.body, made) if isinstance(made, Product) else made
        if isinstance(made, Product):
            made = plain_product(site.body, made)
        assert isinstance(made.expr, Binary)
        parts = (made.expr.left, made.expr.right, word(f"rounding::{rounding}"), word(ftz))
        return Tile(expr=Call(function, parts), element=made.element, dims=made.dims)

    return handler


for _name in NAMED_OPERATORS:
    handles(_name, "x", "y", "rounding_mode", "flush_to_zero")(_named_operator(_name))


def _bitwise(operator: str) -> Handler:
    def handler(site: Site) -> Value:
        made = on_tiles(site.body, operator, site.value("x"), site.value("y"), site.element)
        assert isinstance(made, Tile)
        return made

    return handler


for _name, _operator in {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}.items():
    handles(_name, "x", "y")(_bitwise(_operator))


@handles("bitwise_rshift", "x", "y")
def right_shift(site: Site) -> Value:
    made = on_tiles(site.body, "+", site.value("x"), site.value("y"), site.element)
    assert isinstance(made, Tile)
    assert isinstance(made.expr, Binary)
    return Tile(expr=Call("shri", (made.expr.left, made.expr.right)), element=made.element, dims=made.dims)


@handles("bitwise_lshift", "x", "y")
def left_shift(site: Site) -> Value:
    """Only by a known distance, as a multiplication: cuTile Rust 0.2.0 cannot shift without promising no overflow."""
    power = number(2 ** site.integer("y"))
    made = on_tiles(site.body, "*", site.value("x"), power, site.element)
    return plain_product(site.body, made) if isinstance(made, Product) else made


def _no_literal(body: Body, number: Number) -> Expr:
    """A literal under a name: as an argument cuTile Rust 0.2.0 gives it the type that the caller's `E` stands for."""
    text = number.expr.flat
    if text.removeprefix("-").isdigit():
        return body.named_number(literal_name(int(text)), number)
    return number.expr


def _extreme(tile_function: str, scalar_function: str) -> Handler:
    def handler(site: Site) -> Value:
        left, right, element = whole(site.body, site.value("x")), whole(site.body, site.value("y")), site.element
        if isinstance(left, Number) and isinstance(right, Number):
            a, b = as_scalar(site.body, left, element), as_scalar(site.body, right, element)
            fixed = left.fixed and right.fixed
            origin = origin_of(f"{scalar_function}({{}}, {{}})", left, right)
            made = call(scalar_function, _no_literal(site.body, a), _no_literal(site.body, b))
            return Number(expr=made, dtype=element, fixed=fixed, origin=origin)
        dims = broadcast_dims(dims_of(left), dims_of(right))
        a_tile = site.body.named(as_tile(site.body, left, element, dims), "left")
        b_tile = site.body.named(as_tile(site.body, right, element, dims), "right")
        parts = (a_tile.expr, b_tile.expr)
        if element in FLOATS or is_generic(element):
            nan = "nan::Enabled" if site.known_flag("propagate_nan") else "nan::Disabled"
            expr = Call(f"{tile_function}f", (*parts, word(nan), word(_ftz(site))))
        else:
            expr = Call(f"{tile_function}i", parts)
        return Tile(expr=expr, element=element, dims=dims)

    return handler


handles("maximum", "x", "y", "flush_to_zero", "propagate_nan")(_extreme("max", "max"))
handles("minimum", "x", "y", "flush_to_zero", "propagate_nan")(_extreme("min", "min"))
handles("builtins.max", "x", "y")(_extreme("max", "max"))
handles("builtins.min", "x", "y")(_extreme("min", "min"))


@handles("cdiv", "x", "y")
def cdiv(site: Site) -> Value:
    left, right = whole(site.body, site.value("x")), whole(site.body, site.value("y"))
    if not (isinstance(left, Number) and isinstance(right, Number)):
        raise Untranslatable("`ct.cdiv` of tiles")
    a, b = as_scalar(site.body, left, "i32"), as_scalar(site.body, right, "i32")
    fixed, origin = left.fixed and right.fixed, origin_of("-(-{} // {})", left, right)
    return Number(
        expr=call("ceil_div", _exact(site, a.expr), _exact(site, b.expr)), dtype="i32", fixed=fixed, origin=origin
    )


def _exact(site: Site, expr: Expr) -> Expr:
    """A literal under a name with its type: of a generic function cuTile Rust takes its type to be the kernel's `E`."""
    if not expr.flat.isdigit():
        return expr
    name = site.body.free("step")
    site.body.emit(rust.Let((name,), expr, "i32"))
    return word(name)


def _unary(function: str, *modes: str) -> Handler:
    """`modes` are `rounding` and `ftz`, in the order in which the Rust function takes them."""

    def handler(site: Site) -> Value:
        tile = site.tile("x")
        element = site.element
        if tile.element != element:
            tile = site.body.named(as_tile(site.body, tile, element, tile.dims), "operand")
        rounding = _rounding(site)
        if "rounding" not in modes and rounding != "NearestEven":
            return _declared(site, function, rounding, tile)
        words = {"rounding": f"rounding::{rounding}", "ftz": _ftz(site)}
        return Tile(expr=Call(function, (tile.expr, *(word(words[m]) for m in modes))), element=element, dims=tile.dims)

    return handler


def _declared(site: Site, function: str, rounding: str, tile: Tile) -> Tile:
    name = f"{function}_{rounding.lower()}"
    if not is_idiom(name):
        raise Untranslatable(f"`ct.{function}` with {rounding.lower()} rounding")
    site.body.idiom(name)
    if not site.body.shared.declare:
        raise Untranslatable(
            f"`ct.{function}` with {rounding.lower()} rounding, which cuTile Rust 0.2.0 cannot say; "
            "--declare lets the kernel declare that operation itself"
        )
    return Tile(expr=Call(name, (tile.expr, word(f"rounding::{rounding}"))), element=tile.element, dims=tile.dims)


for _name, _modes in {
    "exp": (),
    "exp2": ("ftz",),
    "log": (),
    "log2": (),
    "sqrt": ("rounding", "ftz"),
    "rsqrt": ("ftz",),
    "tanh": (),
    "sin": (),
    "cos": (),
    "floor": (),
    "ceil": (),
}.items():
    handles(_name, "x", "rounding_mode", "flush_to_zero")(_unary(_name, *_modes))
handles("builtins.abs", "x", "rounding_mode", "flush_to_zero")(_unary("absf"))
handles("abs", "x", "rounding_mode", "flush_to_zero")(_unary("absf"))


@handles("negative", "x")
def negated(site: Site) -> Value:
    return negative(site.body, site.value("x"))


@handles("where", "cond", "x", "y")
def where(site: Site) -> Value:
    condition, element = site.value("cond"), site.element
    values = (site.value("x"), site.value("y"))
    dims = broadcast_dims(dims_of(condition), broadcast_dims(*map(dims_of, values)))
    parts = [site.body.named(as_tile(site.body, condition, "bool", dims), "condition")]
    parts += [site.body.named(as_tile(site.body, value, element, dims), "choice") for value in values]
    return Tile(expr=Call("select", tuple(part.expr for part in parts)), element=element, dims=dims)


COMPARISONS: dict[str, ast.cmpop] = {
    "less": ast.Lt(),
    "less_equal": ast.LtE(),
    "greater": ast.Gt(),
    "greater_equal": ast.GtE(),
    "equal": ast.Eq(),
    "not_equal": ast.NotEq(),
}


def _comparison(operator: ast.cmpop) -> Handler:
    return lambda site: compare(site.body, operator, site.value("x"), site.value("y"))


for _name, _comparison_operator in COMPARISONS.items():
    handles(_name, "x", "y")(_comparison(_comparison_operator))
