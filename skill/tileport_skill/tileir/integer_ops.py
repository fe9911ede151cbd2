"""Integer operations, comparisons and conversions. What is undefined is a finding or poison."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tileport_skill.tileir.elements import STORAGE, Array, bits_of, narrow
from tileport_skill.tileir.machine import Machine, Meaning, Unsupported, element_of
from tileport_skill.tileir.records import Op
from tileport_skill.tileir.tile_value import Elements, either


def _unsigned(value: Array) -> Array:
    return value if value.dtype == np.bool_ else value.view(bits_of(value.dtype))


def _signed_or_not(op: Op, *values: Array) -> list[Array]:
    if op.attributes.get("signedness") == "unsigned":
        return [_unsigned(value) for value in values]
    return list(values)


def _integer(function: Callable[[Op, Array, Array], Array]) -> Meaning:
    def run(machine: Machine, op: Op) -> Elements:
        a, b = (machine.elements(op, name) for name in op.operands)
        dtype = STORAGE[element_of(op)]
        with np.errstate(over="ignore"):
            result = function(op, *_signed_or_not(op, a.data, b.data))
        _check_wrap(machine, op, a, b, result)
        return Elements(np.asarray(result).astype(dtype, copy=False), either(a.poison, b.poison))

    return run


def _check_wrap(machine: Machine, op: Op, a: Elements, b: Elements, result: Array) -> None:
    flag = op.attributes.get("overflow")
    if flag is None or op.name not in ("addi", "subi", "muli") or a.data.dtype.itemsize > 4:
        return
    for name, view in (("signed", lambda x: x), ("unsigned", _unsigned)):
        if flag in (f"no_{name}_wrap", "no_wrap"):
            x, y = view(a.data).astype(np.int64), view(b.data).astype(np.int64)
            exact = {"addi": x + y, "subi": x - y, "muli": x * y}[op.name]
            if (exact != view(np.asarray(result)).astype(np.int64)).any():
                machine.finding("overflow", op, f"{op.name} wraps although it promises {flag}")
                return


def _shift_left(op: Op, a: Array, b: Array) -> Array:
    return np.where(_unsigned(b) < 8 * a.dtype.itemsize, a << (b & (8 * a.dtype.itemsize - 1)), 0)


def _shift_right(op: Op, a: Array, b: Array) -> Array:
    width = 8 * a.dtype.itemsize
    amount = np.minimum(_unsigned(b), width - 1)
    gone = 0 if op.attributes["signedness"] == "unsigned" else a >> (width - 1)
    return np.where(_unsigned(b) < width, a >> amount.astype(a.dtype), gone)


def _high_half(op: Op, a: Array, b: Array) -> Array:
    width = 8 * a.dtype.itemsize
    wide = _unsigned(a).astype(object) * _unsigned(b).astype(object)
    return np.asarray(wide >> width).astype(bits_of(a.dtype)).view(a.dtype)


def _divide_integers(machine: Machine, op: Op) -> Elements:
    a, b = machine.elements(op, "lhs"), machine.elements(op, "rhs")
    x, y = _signed_or_not(op, a.data, b.data)
    bad = y == 0
    if op.attributes["signedness"] == "signed" and x.dtype.kind == "i":
        bad = bad | ((y == -1) & (x == np.iinfo(x.dtype).min))
    poison = either(a.poison, b.poison)
    if (bad if poison is None else bad & ~poison).any():
        machine.finding("division", op, "division by zero, or of the least number by -1")
    safe = np.where(bad, y.dtype.type(1), y)
    down = x // safe
    rest = x - down * safe
    if op.name == "remi":
        result = np.where((rest != 0) & ((x < 0) != (safe < 0)), rest - safe, rest)
    else:
        mode = op.attributes.get("rounding", "zero")
        up = down + (rest != 0)
        towards_zero = np.where((x < 0) != (safe < 0), up, down)
        result = {"zero": towards_zero, "positive_inf": up, "negative_inf": down}[mode]
    return Elements(result.astype(x.dtype).view(a.data.dtype), poison)


def _compare(machine: Machine, op: Op) -> Elements:
    a, b = machine.elements(op, "lhs"), machine.elements(op, "rhs")
    x, y = _signed_or_not(op, a.data, b.data)
    if x.dtype == np.bool_ and op.attributes.get("signedness") == "signed":
        x, y = -x.astype(np.int8), -y.astype(np.int8)  # as one bit, true is -1
    predicate = op.attributes["comparison_predicate"]
    result = {
        "equal": np.equal,
        "not_equal": np.not_equal,
        "less_than": np.less,
        "less_than_or_equal": np.less_equal,
        "greater_than": np.greater,
        "greater_than_or_equal": np.greater_equal,
    }[predicate](x, y)
    if op.name == "cmpf":
        unordered = np.isnan(x.astype(np.float64)) | np.isnan(y.astype(np.float64))
        result = np.where(unordered, op.attributes["comparison_ordering"] == "unordered", result)
    return Elements(np.asarray(result), either(a.poison, b.poison))


def _from_integer(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "from")
    value = source.data if op.attributes["signedness"] == "signed" else _unsigned(source.data)
    if value.dtype == np.bool_ and op.attributes["signedness"] == "signed":
        value = -value.astype(np.int8)
    element = element_of(op)
    if element in ("f32", "f64"):
        return Elements(value.astype(STORAGE[element]), source.poison)
    return Elements(narrow(value.astype(np.float64), element), source.poison)


def _to_integer(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "from")
    dtype = STORAGE[element_of(op)]
    target = bits_of(dtype) if op.attributes["signedness"] == "unsigned" else dtype
    if target == np.bool_:
        raise Unsupported("ftoi to i1")
    whole = np.trunc(source.data.astype(np.float64))
    least, most = float(np.iinfo(target).min), float(np.iinfo(target).max)
    outside = ~((whole >= least) & (whole <= most))
    clipped = np.clip(np.nan_to_num(whole, nan=0.0), least, most)
    # 2^63 - 1 is no f64; the nearest below it is
    result = np.minimum(clipped, np.nextafter(most, 0) if target.itemsize == 8 else most).astype(target)
    saturating = "saturating" in op.attributes
    return Elements(result.view(dtype), source.poison if saturating else either(source.poison, outside))


def _extend(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "from")
    dtype = STORAGE[element_of(op)]
    value = source.data
    if op.attributes["signedness"] == "signed":
        result = -value.astype(dtype) if value.dtype == np.bool_ else value.astype(dtype)
    else:
        result = _unsigned(value).astype(bits_of(dtype)).view(dtype)
    return Elements(result, source.poison)


def _truncate(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "from")
    dtype = STORAGE[element_of(op)]
    if dtype == np.bool_:
        result = (source.data & 1).astype(np.bool_)
    else:
        mask = (1 << 8 * dtype.itemsize) - 1
        result = (_unsigned(source.data) & _unsigned(source.data).dtype.type(mask)).astype(bits_of(dtype))
        result = result.view(dtype)
    flag = op.attributes.get("overflow")
    if flag in ("no_signed_wrap", "no_wrap") and (result.astype(np.int64) != source.data).any():
        machine.finding("overflow", op, f"trunci loses bits although it promises {flag}")
    return Elements(result, source.poison)


def _negate_integer(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "source")
    with np.errstate(over="ignore"):
        result = -source.data if op.name == "negi" else np.abs(source.data)
    return Elements(result, source.poison)


def _multiply_integer_matrices(machine: Machine, op: Op) -> Elements:
    a, b, c = (machine.elements(op, name) for name in ("lhs", "rhs", "acc"))
    sides = []
    for value, name in ((a, "signedness_lhs"), (b, "signedness_rhs")):
        data = value.data if op.attributes[name] == "signed" else _unsigned(value.data)
        sides.append(data.astype(np.int64))
    if any(value.poison is not None for value in (a, b, c)):
        raise Unsupported("mmai of unspecified elements")
    return Elements((np.matmul(*sides) + c.data).astype(np.int32))


INTEGER: dict[str, Meaning] = {
    "addi": _integer(lambda op, a, b: a + b),
    "subi": _integer(lambda op, a, b: a - b),
    "muli": _integer(lambda op, a, b: a * b),
    "andi": _integer(lambda op, a, b: a & b),
    "ori": _integer(lambda op, a, b: a | b),
    "xori": _integer(lambda op, a, b: a ^ b),
    "maxi": _integer(lambda op, a, b: np.maximum(a, b)),
    "mini": _integer(lambda op, a, b: np.minimum(a, b)),
    "shli": _integer(_shift_left),
    "shri": _integer(_shift_right),
    "mulhii": _integer(_high_half),
    "divi": _divide_integers,
    "remi": _divide_integers,
    "absi": _negate_integer,
    "negi": _negate_integer,
    "cmpf": _compare,
    "cmpi": _compare,
    "itof": _from_integer,
    "ftoi": _to_integer,
    "exti": _extend,
    "trunci": _truncate,
    "mmai": _multiply_integer_matrices,
}
