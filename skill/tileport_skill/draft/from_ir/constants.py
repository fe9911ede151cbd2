"""Constants: literals that the crate spells rightly, and those that have to come from bits or from an `f32`."""

from __future__ import annotations

import math
import struct

from tileport_skill.draft import rust
from tileport_skill.draft.from_ir.constants_read import constant_value
from tileport_skill.draft.from_ir.slots import Generic, Key, shape_of
from tileport_skill.draft.from_ir.writer import Writer
from tileport_skill.draft.rust import Expr, call, word
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Op, Value

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


def constant(writer: Writer, op: Op) -> None:
    value = constant_value(op)
    match value:
        case bool():
            _truth(writer, op, value)
        case int():
            _integer(writer, op, value)
        case float():
            _float(writer, op, value)


def _truth(writer: Writer, op: Op, truth: bool) -> None:
    if truth:
        writer.let(op, _literal(writer, "true", op.result))
        return
    # `constant(false)` is true in cuTile 0.2.0: a comparison that never holds says the same.
    zero = writer.names.fresh("zero")
    writer.emit(rust.Let((zero,), _literal(writer, "0i32", op.result), writer.type(op.result, element="i32")))
    writer.let(op, call("cmpi", zero, zero, "predicate::NotEqual"))


def _integer(writer: Writer, op: Op, value: int) -> None:
    unsigned = writer.signs.unsigned(op.result)
    _, element = shape_of(op.result.type)
    assert element is not None
    filling = writer.filling(Key("integer", writer.numbers[op.result]), value)
    if isinstance(filling, Generic):
        _from_generic(writer, op, element, filling.name, unsigned=unsigned)
    elif unsigned and not 0 <= value < 1 << (BITS[element] - 1):  # cuTile 0.2.0 makes 0 of such literals
        name = writer.names.fresh("bits")
        writer.emit(rust.Let((name,), _literal(writer, f"{value}{element}", op.result), writer.type(op.result)))
        writer.let(op, call("bitcast", name), unsigned=True)
    else:
        spelled = f"{value}{'u' + element[1:] if unsigned else element}"
        writer.let(op, _literal(writer, spelled, op.result), unsigned=unsigned)


def _literal(writer: Writer, text: str, like: Value) -> Expr:
    return call("constant", word(text), writer.shape(like))


def _from_generic(writer: Writer, op: Op, element: str, generic: str, *, unsigned: bool) -> None:
    spread = _spread(writer, word(generic), op.result)
    if element == "i32" and not unsigned:
        writer.let(op, spread, unsigned=False)
        return
    if element not in ("i32", "i64"):
        raise Untranslatable(f"a constant of type {element} that differs between specialisations")
    name = writer.names.fresh(f"{generic.lower()}_lanes")
    writer.emit(rust.Let((name,), spread, writer.type(op.result, element="i32")))
    writer.let(op, call("bitcast" if element == "i32" else "exti", name), unsigned=unsigned)


def _spread(writer: Writer, scalar: Expr, like: Value) -> Expr:
    if not writer.dims(like):
        return call("scalar_to_tile", scalar)
    return call("broadcast_scalar", scalar, writer.shape(like))


def _float(writer: Writer, op: Op, value: float) -> None:
    filling = writer.filling(Key("float", writer.numbers[op.result]), value)
    element = writer.element(op.result)
    if isinstance(filling, Generic):
        writer.idioms.add("f32_from_bits")
        bits = writer.names.fresh(filling.name.removesuffix("_BITS").lower())
        writer.emit(rust.Let((bits,), call("f32_from_bits", filling.name)))
        _as_element(writer, op, element, _spread(writer, word(bits), op.result))
    elif value == 0 and math.copysign(1, value) > 0 and not element.startswith("f8"):  # of those not even zero
        zero = {"f32": "0.0f32", "f64": "0.0f64"}.get(element, f"{element}::ZERO")
        writer.let(op, _literal(writer, zero, op.result))
    elif element == "f64":
        writer.let(op, _literal(writer, f"{value!r}f64", op.result))
    else:
        _as_element(writer, op, element, _literal(writer, float_literal(value), op.result))


def _as_element(writer: Writer, op: Op, element: str, wide: Expr) -> None:
    """A value of type `f32` as one of the constant's own type, which it is exactly."""
    if element == "f32":
        writer.let(op, wide)
        return
    if writer.declare and isinstance(wide, rust.Call) and wide.function == "constant":
        writer.idioms.add("constant_of")
        writer.let(op, rust.Call("constant_of", wide.arguments))
        return
    name = writer.names.fresh("constant_f32")
    writer.emit(rust.Let((name,), wide, writer.type(op.result, element="f32")))
    writer.let(op, call("convert_tile", name))


def scalar_constant(writer: Writer, op: Op) -> str | None:
    """The name of a tile of rank 0 that holds what every lane of a constant holds; None if nothing says it."""
    value, number = constant_value(op), writer.numbers[op.result]
    element = writer.element(op.result)
    filling = writer.fillings.get(Key("integer", number))
    if isinstance(filling, Generic) and element == "i32":
        return _rank_0(writer, call("scalar_to_tile", filling.name), element)
    if isinstance(value, bool) or any(Key(kind, number) in writer.fillings for kind in ("integer", "float")):
        return None
    if isinstance(value, int):
        literal = f"{value}{element}"
    elif value == 0 and math.copysign(1, value) > 0:
        literal = {"f32": "0.0f32", "f64": "0.0f64"}.get(element, f"{element}::ZERO")
    elif element == "f32":
        literal = float_literal(value)
    else:
        return None
    return _rank_0(writer, call("constant", word(literal), "const_shape![]"), element)


def _rank_0(writer: Writer, made: Expr, element: str) -> str:
    name = writer.names.fresh("padding")
    writer.emit(rust.Let((name,), made, f"Tile<{element}, {{ [] }}>"))
    return name


def float_literal(value: float) -> str:
    """The shortest decimal that is this very `f32`, without an exponent: the crate reads none."""
    if math.isinf(value):
        return "f32::INFINITY" if value > 0 else "f32::NEG_INFINITY"
    if math.isnan(value):
        raise Untranslatable("the constant NaN")
    wanted = struct.pack("<f", value)
    text = next(t for t in (f"{value:.{p}g}" for p in range(1, 18)) if struct.pack("<f", float(t)) == wanted)
    if abs(value) >= 1e16:
        return f"{format(float(text), '.1f')}f32"
    whole = format(float(text), ".60f").rstrip("0")
    return f"{whole}0f32" if whole.endswith(".") else f"{whole}f32"
