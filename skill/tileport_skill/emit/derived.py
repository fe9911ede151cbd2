"""Const generics that no constant of the reference is: an entry's documentation says how the constants make them.

One line each, ``/// `HALF`: `TILE // 2` `` or ``/// `SCALE_BITS`: the bits of `1.0 / (1.0 - P)` ``. It is computed
here as Python would, with numbers, arithmetic, comparisons, choices, a few functions, and nothing else.
"""

from __future__ import annotations

import ast
import operator
import re
import struct
from collections.abc import Callable, Iterable, Mapping

from tileport_skill.capture.records import Constant

LARGEST_SHIFT = 64
"""No generic is so wide; what an expression asks for beyond it must not fill the memory."""
Value = int | float | bool
LINE = re.compile(r"/// `(\w+)`: (?:the bits of )?`([^`]+)`$")
ENTRY = re.compile(r"pub (?:unsafe )?fn (\w+)")
OPERATORS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: lambda left, right: operator.lshift(left, min(right, LARGEST_SHIFT)),
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
FUNCTIONS: dict[str, Callable[..., Value]] = {"min": min, "max": max, "float": float}


class NotComputed(Exception):
    """The expression is not one of those above, or has no value for these constants."""


def derivations(text: str) -> dict[str, dict[str, str]]:
    """For each entry of a `kernel.rs`, the expression of each such generic."""
    found: dict[str, dict[str, str]] = {}
    above: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if match := LINE.match(line):
            above[match[1]] = match[2]
        elif match := ENTRY.match(line):
            found[match[1]] = above
            above = {}
        elif not line.startswith(("///", "#[")):
            above = {}
    return found


def numbers(constants: Iterable[Constant]) -> dict[str, Value]:
    """The constants that an expression may be over, by name."""
    read: dict[str, Callable[[str], Value]] = {"int": int, "float": float, "bool": lambda text: text == "True"}
    return {one.name: read[one.type](one.text) for one in constants if one.type in read}


def computed(expression: str, constants: Mapping[str, Value]) -> Value:
    """Raises `NotComputed`."""
    try:
        return _value(ast.parse(expression, mode="eval").body, constants)
    except (SyntaxError, ArithmeticError, TypeError, ValueError) as error:
        raise NotComputed(f"`{expression}`: {error}") from error


def spelled(value: Value) -> str:
    """As the emitter takes it: of a number with a fraction the bits as `f32`."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(float_bits(value)) if isinstance(value, float) else str(value)


def float_bits(value: float) -> int:
    """Of the `f32` next to it, as the `i32` that stands for it."""
    found: int = struct.unpack("<i", struct.pack("<f", value))[0]
    return found


def _value(node: ast.expr, constants: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name) if name in constants:
            return constants[name]
        case ast.BinOp(left=left, op=kind, right=right) | ast.Compare(left=left, ops=[kind], comparators=[right]) if (
            type(kind) in OPERATORS
        ):
            return OPERATORS[type(kind)](_value(left, constants), _value(right, constants))
        case ast.UnaryOp(op=ast.USub() | ast.Not() as kind, operand=operand):
            value = _value(operand, constants)
            return -value if isinstance(kind, ast.USub) else not value
        case ast.BoolOp(op=kind, values=values):
            found = (_value(part, constants) for part in values)
            return all(found) if isinstance(kind, ast.And) else any(found)
        case ast.IfExp(test=test, body=then, orelse=otherwise):
            return _value(then if _value(test, constants) else otherwise, constants)
        case ast.Call(func=ast.Attribute(value=of, attr="bit_length"), args=[]):
            return _whole(_value(of, constants)).bit_length()
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in FUNCTIONS and arguments:
            return FUNCTIONS[name](*(_value(argument, constants) for argument in arguments))
    raise NotComputed(f"`{ast.unparse(node)}` is no number over the constants {', '.join(constants)}")


def _whole(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value} is no whole number")
    return value
