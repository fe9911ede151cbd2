"""Floating-point operations. f16 and bf16 are computed in f32 and rounded once more, as the hardware does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tileport_skill.tileir.elements import Array, flush, narrow
from tileport_skill.tileir.machine import Machine, Meaning, element_of
from tileport_skill.tileir.records import Op
from tileport_skill.tileir.tile_value import Elements, either

_NEAREST = frozenset({"nearest_even", "approx", "full"})


def _wide(value: Elements, element: str) -> Array:
    """Floating operands as they are computed with: f64 as it is, everything else in f32."""
    return value.data if element == "f64" else value.data.astype(np.float32)


def _float_op(
    machine: Machine, op: Op, names: tuple[str, ...], compute: Callable[..., tuple[Array, Array | None]]
) -> Elements:
    element = element_of(op)
    operands = [machine.elements(op, name) for name in names]
    inputs = [_wide(operand, element) for operand in operands]
    ftz = "flush_to_zero" in op.attributes
    if ftz:
        inputs = [flush(each) for each in inputs]
    mode = op.attributes.get("rounding_mode", "nearest_even")
    if mode not in _NEAREST or len(inputs) == 3:  # f64 holds what f32 would round away
        inputs = [each.astype(np.float64) for each in inputs]
    exact, error = compute(*inputs)
    if element in ("f32", "tf32", "f64"):
        result = narrow(exact, element, mode, error)
    else:  # once to f32, as the hardware does, then to the narrow type
        result = narrow(narrow(exact, "f32", mode, error), element)
    if ftz:
        result = flush(result)
    return Elements(result, either(*[operand.poison for operand in operands]))


def _add(a: Array, b: Array) -> tuple[Array, Array | None]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _subtract(a: Array, b: Array) -> tuple[Array, Array | None]:
    return _add(a, -b)


def _multiply(a: Array, b: Array) -> tuple[Array, Array | None]:
    return a * b, None  # two f32 fit exactly


def _divide(a: Array, b: Array) -> tuple[Array, Array | None]:
    return a / b, None


def _fused(a: Array, b: Array, c: Array) -> tuple[Array, Array | None]:
    return _add(a * b, c)


def _unary(function: Callable[[Array], Array]) -> Meaning:
    def run(machine: Machine, op: Op) -> Elements:
        return _float_op(machine, op, ("source",), lambda x: (function(x), None))

    return run


def _binary(compute: Callable[[Array, Array], tuple[Array, Array | None]]) -> Meaning:
    def run(machine: Machine, op: Op) -> Elements:
        names = tuple(op.operands)
        return _float_op(machine, op, names, compute)

    return run


def _minmax(sign: int) -> Meaning:
    def run(machine: Machine, op: Op) -> Elements:
        a, b = machine.elements(op, "lhs"), machine.elements(op, "rhs")
        x, y = a.data, b.data
        if "flush_to_zero" in op.attributes:
            x, y = flush(x), flush(y)
        wide_x, wide_y = x.astype(np.float64) * sign, y.astype(np.float64) * sign
        left = (wide_x > wide_y) | ((wide_x == wide_y) & (np.signbit(wide_y) & ~np.signbit(wide_x)))
        best = np.where(left, x, y)
        nan_x, nan_y = np.isnan(wide_x), np.isnan(wide_y)
        if "propagate_nan" in op.attributes:
            best = np.where(nan_x | nan_y, x.dtype.type(np.nan), best)
        else:
            best = np.where(nan_x, y, np.where(nan_y, x, best))
        return Elements(best, either(a.poison, b.poison))

    return run


def _convert_float(machine: Machine, op: Op) -> Elements:
    source = machine.elements(op, "from")
    wide = source.data.astype(np.float64)
    element = element_of(op)
    mode = op.attributes.get("rounding_mode", "nearest_even")
    result = narrow(wide, element, mode) if element != "f64" else wide
    return Elements(result, source.poison)


def _sign(function: Callable[[Array], Array]) -> Meaning:
    def run(machine: Machine, op: Op) -> Elements:
        source = machine.elements(op, "source")
        return Elements(np.asarray(function(source.data)), source.poison)

    return run


def _multiply_matrices(machine: Machine, op: Op) -> Elements:
    a, b, c = (machine.elements(op, name) for name in ("lhs", "rhs", "acc"))
    accumulator = np.float64 if element_of(op) == "f64" else np.float32
    x, y = a.data.astype(accumulator), b.data.astype(accumulator)
    total = np.matmul(x, y) + c.data.astype(accumulator)
    if not sums_exactly(x, y, c.data.astype(accumulator), element_of(op)):
        machine.inexact()
    poison = c.poison
    for mask, axis in ((a.poison, -1), (b.poison, -2)):
        if mask is not None and mask.any():
            poison = either(poison, np.broadcast_to(mask.any(axis=axis, keepdims=True), total.shape))
    return Elements(narrow(total, element_of(op)) if element_of(op) != "f64" else total, poison)


def sums_exactly(x: Array, y: Array, c: Array, element: str) -> bool:
    """Whether the sums of products are exact in any order: all on one grid of 1/64, and small enough."""
    digits = {"f16": 2.0**11, "f64": 2.0**53}.get(element, 2.0**24)
    with np.errstate(all="ignore"):
        if not all(np.isfinite(v).all() and (v * 8 == np.rint(v * 8)).all() for v in (x, y)):
            return False
        on_grid = bool((c * 64 == np.rint(c * 64)).all())
        most = np.abs(x).max(initial=0) * np.abs(y).max(initial=0) * x.shape[-1] + np.abs(c).max(initial=0)
    return on_grid and bool(most * 64 < digits)


FLOAT: dict[str, Meaning] = {
    "addf": _binary(_add),
    "subf": _binary(_subtract),
    "mulf": _binary(_multiply),
    "divf": _binary(_divide),
    "remf": _binary(lambda a, b: (np.fmod(a, b), None)),
    "pow": _binary(lambda a, b: (np.power(a, b), None)),
    "fpowf": _binary(lambda a, b: (np.power(a, b), None)),
    "atan2": _binary(lambda a, b: (np.arctan2(a, b), None)),
    "fma": lambda m, op: _float_op(m, op, ("lhs", "rhs", "acc"), _fused),
    "sqrt": _unary(np.sqrt),
    "rsqrt": _unary(lambda x: 1.0 / np.sqrt(x)),
    "exp": _unary(np.exp),
    "exp2": _unary(np.exp2),
    "log": _unary(np.log),
    "log2": _unary(np.log2),
    "sin": _unary(np.sin),
    "cos": _unary(np.cos),
    "tan": _unary(np.tan),
    "sinh": _unary(np.sinh),
    "cosh": _unary(np.cosh),
    "tanh": _unary(np.tanh),
    "ceil": _unary(np.ceil),
    "floor": _unary(np.floor),
    "negf": _sign(lambda x: -x),
    "absf": _sign(np.abs),
    "maxf": _minmax(1),
    "minf": _minmax(-1),
    "ftof": _convert_float,
    "mmaf": _multiply_matrices,
}
