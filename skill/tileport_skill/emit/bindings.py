"""Ports whose entries do not take the reference's parameters: a table says what their launchers pass instead.

For each entry parameter and const generic it holds one expression over the captured launch: the name of an argument or
constant, `x.size(0)`, `x.stride(1)`, `is_float32(x)`, a number, or what a few operations make of these.
"""

from __future__ import annotations

import ast
import operator
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import TypeAdapter, ValidationError

from tileport_skill.capture.records import Constant, Launch, Specialisation, TensorArgument, ValueArgument
from tileport_skill.emit.entries import ConstGeneric, Entry, PointerParameter, TensorParameter
from tileport_skill.emit.launcher import DTYPES, TensorFacts, address_of, divisor_of, tensor_facts
from tileport_skill.emit.mapping import TENSOR_CORES, Request, Unmapped, float_bits
from tileport_skill.errors import RequestError

OURS = Path(__file__).parent / "tilegym_ports.toml"
OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
}
FLOAT_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
EXTREMA: dict[str, Callable[[int, int], int]] = {"min": min, "max": max}
Value = TensorArgument | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How the launcher of one entry fills it for launches of one reference kernel."""

    kernel: str
    entry: str
    generics: dict[str, str]
    parameters: dict[str, str]
    only: tuple[str, ...] | None = None
    """Ids of the specialisations that it is for, where the launcher chooses between entries; None for all."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def read_bindings(path: Path) -> tuple[Binding, ...]:
    """Raises `RequestError` if the file is no table of bindings."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return TypeAdapter(tuple[Binding, ...]).validate_python(document.get("binding", ()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise RequestError(f"{path} is no table of bindings: {error}. See {OURS} for one.") from error


def bound_request(
    binding: Binding, entry: Entry, launch: Launch, specialisation: Specialisation, arch: str, symbol: str
) -> Request:
    """The request for `launch` as `binding` says. Raises `Unmapped` where it does not fit the entry."""
    told = {generic.name for generic in entry.generics if isinstance(generic, ConstGeneric)}
    if {parameter.name for parameter in entry.parameters} != binding.parameters.keys() or told != set(binding.generics):
        raise Unmapped(f"the binding of {entry.name} names other parameters or generics than it has")
    values = _values(launch, specialisation)
    types: dict[str, str] = {}
    tensors: list[TensorFacts] = []
    scalars: list[tuple[str, int]] = []
    for parameter in entry.parameters:
        value = evaluated(binding.parameters[parameter.name], values)
        if isinstance(parameter, PointerParameter | TensorParameter):
            if not isinstance(value, TensorArgument):
                raise Unmapped(f"entry {entry.name}: {parameter.name!r} is bound to no array")
            element = DTYPES.get(value.dtype, value.dtype)
            if types.setdefault(parameter.element, element) != element:
                raise Unmapped(
                    f"entry {entry.name}: {parameter.element} would be {types[parameter.element]} and {element}"
                )
            if isinstance(parameter, TensorParameter):
                tensors.append(tensor_facts(parameter.name, value))
            else:
                scalars.append((parameter.name, divisor_of(address_of(value, element))))
        elif isinstance(value, int):
            scalars.append((parameter.name, divisor_of(value)))
        elif isinstance(value, TensorArgument):
            raise Unmapped(f"entry {entry.name}: {parameter.name!r} is a scalar, but bound to an array")
    return Request(
        entry=entry.name,
        arch=arch,
        symbol=symbol,
        generics=tuple(_generic(generic.name, binding, types, values) for generic in entry.generics),
        tensors=tuple(tensors),
        scalars=tuple(scalars),
        occupancy=specialisation.hints.occupancy,
        num_cta_in_cga=specialisation.hints.num_ctas,
    )


def _generic(name: str, binding: Binding, types: dict[str, str], values: dict[str, Value]) -> str:
    if name in binding.generics:
        value = evaluated(binding.generics[name], values)
        if isinstance(value, TensorArgument):
            raise Unmapped(f"generic {name} is bound to an array")
        return str(float_bits(value) if name.endswith("_BITS") else int(value))
    base = name.removesuffix(TENSOR_CORES)
    if base not in types:
        raise Unmapped(f"no argument says what {name} is")
    return "tf32" if base != name and types[base] == "f32" else types[base]


def _values(launch: Launch, specialisation: Specialisation) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for parameter, argument in zip(specialisation.parameters, launch.arguments, strict=True):
        if isinstance(argument, TensorArgument):
            found[parameter.name] = argument
        elif isinstance(argument, ValueArgument):
            text = parameter.text if isinstance(parameter, Constant) else argument.text
            try:
                found[parameter.name] = ast.literal_eval(text)
            except (ValueError, SyntaxError):  # a type or an enumeration: no number, so nothing can be bound to it
                continue
    return found


def evaluated(text: str, values: dict[str, Value]) -> Value:
    """The expression's value. Raises `Unmapped` for what is no expression of this small kind."""
    try:
        return _value(ast.parse(text, mode="eval").body, values)
    except (SyntaxError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        raise Unmapped(f"{text!r} has no value for this launch: {type(error).__name__} {error}") from error


def _value(node: ast.expr, values: dict[str, Value]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size" | "stride" as what), args=[axis]):
            argument = values[name]
            if isinstance(argument, TensorArgument):
                return (argument.shape if what == "size" else argument.strides)[_number(axis, values)]
        case ast.Call(func=ast.Name(id="is_float32"), args=[ast.Name(id=name)]):
            argument = values[name]
            if isinstance(argument, TensorArgument):
                return int(argument.dtype == "float32")
    return _arithmetic(node, values)


def _arithmetic(node: ast.expr, values: dict[str, Value]) -> int | float:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return _computed(op, _value(left, values), _value(right, values))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_plain(_value(operand, values))
        case ast.Call(func=ast.Name(id="min" | "max" as which), args=[left, right]):
            return EXTREMA[which](_number(left, values), _number(right, values))
        case ast.Call(func=ast.Attribute(value=of, attr="bit_length"), args=[]):
            return _number(of, values).bit_length()
        case ast.Call(func=ast.Name(id="float"), args=[of]):
            return float(_plain(_value(of, values)))
    raise TypeError(f"{ast.unparse(node)} is not understood")


def _computed(op: ast.operator, left: Value, right: Value) -> int | float:
    if isinstance(left, int) and isinstance(right, int) and type(op) in OPERATORS:
        return OPERATORS[type(op)](left, right)
    if type(op) in FLOAT_OPERATORS and float in (type(left), type(right)):
        return FLOAT_OPERATORS[type(op)](_plain(left), _plain(right))
    raise TypeError(f"{type(op).__name__} is not understood")


def _plain(value: Value) -> int | float:
    if isinstance(value, TensorArgument):
        raise TypeError("an array is no number")
    return value


def _number(node: ast.expr, values: dict[str, Value]) -> int:
    found = _value(node, values)
    if not isinstance(found, int):
        raise TypeError(f"{ast.unparse(node)} is no integer")
    return int(found)
