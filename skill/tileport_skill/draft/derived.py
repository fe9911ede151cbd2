"""Numbers that the kernel's constants decide and Rust cannot say: the caller computes them, as Python does.

cuTile Python folds `1.0 / (1.0 - P)` when it compiles, and a tile may be `TILE // 2` wide. In Rust such a number is a
const generic of its own, whose value the wrapper passes: the very expression, over the kernel's constants.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tileport_skill.draft import rust
from tileport_skill.draft.naming import constant_name, literal_name
from tileport_skill.draft.rust import Expr, Word, call, word
from tileport_skill.draft.values import Number

if TYPE_CHECKING:
    from tileport_skill.draft.body import Body

Kind = Literal["i32", "f32", "bool"]
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "PLUS",
    ast.Sub: "MINUS",
    ast.Mult: "TIMES",
    ast.Div: "OVER",
    ast.FloorDiv: "OVER",
    ast.Mod: "MODULO",
    ast.Lt: "BELOW",
    ast.LtE: "AT_MOST",
    ast.Gt: "ABOVE",
    ast.GtE: "AT_LEAST",
    ast.Eq: "IS",
    ast.NotEq: "IS_NOT",
}
FAILING = (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
"""Operators that some operands have no result for: only computed where the kernel would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A const generic that no parameter is."""

    generic: str
    type: Kind
    """`i32`, `bool`, or `f32`, whose bits the generic holds."""
    python: str
    """Its value, over the kernel's own constants."""


class OutsideEntry(Exception):
    """A device function has not the entry's const generics: it is written out where it is called."""


def origin_of(form: str, *values: Number) -> str | None:
    """`form` filled with how the constants make each of `values`; None if one of them is known only on the device."""
    origins = [value.origin for value in values]
    if any(origin is None for origin in origins):
        return None
    return ast.unparse(ast.parse(form.format(*(f"({origin})" for origin in origins)), mode="eval"))


@dataclass(frozen=True, slots=True)
class Pending(Expr):
    """A number that gets its generic where it is first needed: most are only parts of a longer expression."""

    type: Kind


def pending(origin: str, dtype: Kind) -> Number:
    return Number(expr=Pending(dtype), dtype=dtype, fixed=True, origin=origin)


def settled(body: Body, value: Number) -> Number:
    """`value` as Rust can say it."""
    return as_generic(body, value, value.expr.type) if isinstance(value.expr, Pending) else value


def as_generic(body: Body, value: Number, dtype: Kind) -> Number:
    """`value`, computed by the caller."""
    assert value.origin is not None
    if not body.entry:
        raise OutsideEntry
    python = _guarded(value.origin, body.shared.conditions)
    one = body.shared.derived.get((python, dtype))
    if one is None:
        taken = {other.generic for other in body.shared.derived.values()}
        words = constant_name(value.name) if value.name else _words(value.origin)
        name = _free(f"{words}{'_BITS' if dtype == 'f32' else ''}", {*taken, *body.shared.generics})
        one = Derived(generic=name, type=dtype, python=python)
        body.shared.derived[python, dtype] = one
        if dtype == "i32":
            body.shared.generics[one.generic] = value.origin
    expr = _from_bits(body, one) if dtype == "f32" else word(one.generic)
    return Number(expr=expr, dtype=dtype, fixed=True, origin=value.origin)


def _from_bits(body: Body, one: Derived) -> Word:
    """The number under a name; the second use in a block finds the first."""
    key = (one.generic, "")
    for table in body.literals:
        if key in table:
            return table[key]
    name = word(body.free(one.generic.removesuffix("_BITS").lower()))
    body.emit(rust.Let((name.text,), call(body.idiom("f32_from_bits"), one.generic)))
    body.literals[-1][key] = name
    return name


def _guarded(origin: str, conditions: list[str]) -> str:
    """The expression, only where the kernel's own branches over its constants lead to it, if it can fail elsewhere."""
    tree = ast.parse(origin, mode="eval")
    if not conditions or not any(isinstance(node, FAILING) for node in ast.walk(tree)):
        return origin
    return ast.unparse(ast.parse(f"({origin}) if ({') and ('.join(conditions)}) else 0", mode="eval"))


def _words(origin: str) -> str:
    return "_".join(_spelled(ast.parse(origin, mode="eval").body))


def _spelled(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name):
            return [constant_name(name)]
        case ast.Constant(value=bool(value)):
            return [str(value).upper()]
        case ast.Constant(value=int() | float() as value):
            return [literal_name(value).upper()]
        case (
            ast.BinOp(left=left, op=operator, right=right) | ast.Compare(left=left, ops=[operator], comparators=[right])
        ) if type(operator) in OPERATORS:
            return [*_spelled(left), OPERATORS[type(operator)], *_spelled(right)]
        case _:
            inner = [word for child in ast.iter_child_nodes(node) for word in _spelled(child)]
            return [*([type(node).__name__.upper()] if not inner else []), *inner]


def _free(wanted: str, taken: set[str]) -> str:
    name, more = wanted, 2
    while name in taken:
        name, more = f"{wanted}_{more}", more + 1
    return name
