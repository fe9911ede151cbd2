"""Operations on values: arithmetic, comparisons, conversions, shapes, reductions."""

from __future__ import annotations

from collections.abc import Callable

from tileport_skill.draft import rust
from tileport_skill.draft.from_ir.writer import Writer
from tileport_skill.draft.rust import Binary, Call, Expr, Method, call, word
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Op, Value

Spelling = Callable[[Writer, Op], None]
ROUNDINGS = {
    "nearest_even": "NearestEven",
    "approx": "Approx",
    "full": "Full",
    "zero": "Zero",
    "positive_inf": "PositiveInf",
    "negative_inf": "NegativeInf",
}
OPERATORS = {"addi": "+", "subi": "-", "muli": "*", "andi": "&", "ori": "|", "xori": "^"}
MATH = ("addf", "subf", "mulf", "divf")
UNARY = ("absf", "absi", "ceil", "cos", "cosh", "floor", "log", "log2", "negf", "sin", "sinh", "tan")
FOLDS = {
    "addf": "reduce_sum",
    "addi": "reduce_sum",
    "maxf": "reduce_max",
    "maxi": "reduce_max",
    "minf": "reduce_min",
    "mini": "reduce_min",
    "mulf": "reduce_prod",
    "muli": "reduce_prod",
}


def operator(writer: Writer, op: Op) -> None:
    _unmarked(op, "overflow")
    unsigned = writer.signs.unsigned(op.result)
    left, right = (writer.signed(op.operand(name), unsigned=unsigned) for name in ("lhs", "rhs"))
    writer.let(op, Binary(OPERATORS[op.name], left, right))


def math(writer: Writer, op: Op) -> None:
    operands = [writer.of(value) for value in op.all_operands()]
    writer.let(op, call(op.name, *operands, rounding(op), flush(op)))


def rounding(op: Op) -> Expr:
    return word(f"rounding::{ROUNDINGS[op.attributes.get('rounding_mode', 'nearest_even')]}")


def flush(op: Op) -> Expr:
    return word(f"ftz::{'Enabled' if 'flush_to_zero' in op.attributes else 'Disabled'}")


def extremum(writer: Writer, op: Op) -> None:
    nan = word(f"nan::{'Enabled' if 'propagate_nan' in op.attributes else 'Disabled'}")
    writer.let(op, call(op.name, *map(writer.of, op.all_operands()), nan, flush(op)))


def unary(writer: Writer, op: Op) -> None:
    writer.let(op, call(op.name, *map(writer.of, op.all_operands())))


def rounded_approximately(writer: Writer, op: Op) -> None:
    """`exp` and `tanh`, which the crate has with one rounding alone."""
    if op.attributes.get("rounding_mode") in (None, "full"):
        writer.let(op, call(op.name, writer.of(op.operand("source"))))
        return
    if not writer.declare:
        raise Untranslatable(
            f"`{op.name}` rounded {op.attributes['rounding_mode']}, for which cuTile Rust 0.2.0 has no word: "
            "--declare lets the kernel declare that operation itself"
        )
    idiom = f"{op.name}_approx"
    writer.idioms.add(idiom)
    writer.let(op, call(idiom, writer.of(op.operand("source")), rounding(op)))


def flushing(writer: Writer, op: Op) -> None:
    """`exp2` and `rsqrt`."""
    writer.let(op, call(op.name, writer.of(op.operand("source")), flush(op)))


def square_root(writer: Writer, op: Op) -> None:
    writer.let(op, call("sqrt", writer.of(op.operand("source")), rounding(op), flush(op)))


def integer_extremum(writer: Writer, op: Op) -> None:
    unsigned = _unsigned(op)
    operands = [writer.signed(value, unsigned=unsigned) for value in op.all_operands()]
    writer.let(op, call("max_tile" if op.name == "maxi" else "min_tile", *operands), unsigned=unsigned)


def remainder(writer: Writer, op: Op) -> None:
    unsigned = _unsigned(op)
    left, right = (writer.signed(op.operand(name), unsigned=unsigned) for name in ("lhs", "rhs"))
    writer.let(op, Binary("%", left, right), unsigned=unsigned)


def division(writer: Writer, op: Op) -> None:
    unsigned, way = _unsigned(op), op.attributes.get("rounding", "zero")
    if way == "negative_inf" or (unsigned and way == "zero"):
        left, right = (writer.signed(op.operand(name), unsigned=unsigned) for name in ("lhs", "rhs"))
        writer.let(op, Binary("/", left, right), unsigned=unsigned)
    elif way == "positive_inf" and not writer.dims(op.result) and not unsigned:
        left, right = (writer.scalar(op.operand(name)) for name in ("lhs", "rhs"))
        name = writer.names.fresh("count")
        writer.emit(rust.Let((name,), call("ceil_div", left, right), writer.element(op.result)))
        writer.from_scalar(op, op.result, word(name))
    else:
        raise Untranslatable(f"an integer division rounded to {way}")


def shift(writer: Writer, op: Op) -> None:
    if op.name == "shri":
        unsigned = _unsigned(op)
        operands = [writer.signed(value, unsigned=unsigned) for value in op.all_operands()]
        writer.let(op, call("shri", *operands), unsigned=unsigned)
        return
    _unmarked(op, "overflow")
    unsigned = writer.signs.unsigned(op.result)
    operands = [writer.signed(value, unsigned=unsigned) for value in op.all_operands()]
    _declared(writer, op, "shli_wrapping", "`shli` without an overflow attribute")
    writer.let(op, call("shli_wrapping", *operands, "overflow::None"))


def narrowed(writer: Writer, op: Op) -> None:
    _unmarked(op, "overflow")
    _declared(writer, op, "trunci_wrapping", "`trunci` without an overflow attribute")
    writer.let(op, call("trunci_wrapping", writer.of(op.operand("from")), "overflow::None"))


def _declared(writer: Writer, op: Op, idiom: str, what: str) -> None:
    if not writer.declare:
        raise Untranslatable(
            f"{what}, for which cuTile Rust 0.2.0 has no word: --declare lets the kernel declare that operation itself"
        )
    writer.idioms.add(idiom)


def high_half(writer: Writer, op: Op) -> None:
    operands = [writer.signed(value, unsigned=True) for value in op.all_operands()]
    writer.let(op, call("mulhii", *operands), unsigned=True)


def compared(writer: Writer, op: Op) -> None:
    unsigned = _unsigned(op)
    left, right = (writer.signed(op.operand(name), unsigned=unsigned) for name in ("lhs", "rhs"))
    writer.let(op, call("cmpi", left, right, f"predicate::{_camel(op)}"))


def compared_floats(writer: Writer, op: Op) -> None:
    ordering = op.attributes["comparison_ordering"].capitalize()
    operands = [writer.of(op.operand(name)) for name in ("lhs", "rhs")]
    writer.let(op, call("cmpf", *operands, f"predicate::{_camel(op)}", f"cmp_ordering::{ordering}"))


def _camel(op: Op) -> str:
    return "".join(part.capitalize() for part in op.attributes["comparison_predicate"].split("_"))


def selected(writer: Writer, op: Op) -> None:
    unsigned = writer.signs.unsigned(op.result)
    condition, *values = op.all_operands()
    writer.let(op, call("select", writer.of(condition), *(writer.signed(v, unsigned=unsigned) for v in values)))


def widened(writer: Writer, op: Op) -> None:
    source = writer.signed(op.operand("from"), unsigned=_unsigned(op))
    writer.let(op, call("exti", source))


def converted(writer: Writer, op: Op) -> None:
    """Between floats, and between floats and integers: rounded as `convert_tile` rounds."""
    default = "zero" if op.name == "ftoi" else "nearest_even"
    if (
        op.attributes.get("rounding_mode", default) not in (default, "nearest_int_to_zero")
        or "saturating" in op.attributes
    ):
        raise Untranslatable(f"`{op.name}` rounded {op.attributes.get('rounding_mode')}")
    source = op.operand("from")
    if op.name == "itof":
        writer.let(op, call("convert_tile", writer.signed(source, unsigned=_unsigned(op))))
    else:
        writer.let(op, call("convert_tile", writer.of(source)), unsigned=op.name == "ftoi" and _unsigned(op))


def cast(writer: Writer, op: Op) -> None:
    """`bitcast`, `int_to_ptr`, `ptr_to_int`, `pack`."""
    writer.let(op, call(op.name, *map(writer.of, op.all_operands())))


def reshaped(writer: Writer, op: Op) -> None:
    source = op.operand("source")
    expr = Method(writer.of(source), op.name, (writer.shape(op.result),))
    writer.let(op, expr, unsigned=writer.held[source].unsigned)


def permuted(writer: Writer, op: Op) -> None:
    axes = op.attributes["permutation"].strip("[]").split(", ")
    source = op.operand("source")
    expr = call("permute", writer.of(source), Call("const_array!", tuple(map(word, axes)), "[]"))
    writer.let(op, expr, unsigned=writer.held[source].unsigned)


def joined(writer: Writer, op: Op) -> None:
    unsigned = writer.signs.unsigned(op.result)
    left, right = (writer.signed(op.operand(name), unsigned=unsigned) for name in ("lhs", "rhs"))
    writer.let(op, call("cat", left, right, f"{op.attributes['dim']}i32"))


def extracted(writer: Writer, op: Op) -> None:
    indices = Call("", tuple(map(writer.scalar, op.operands["indices"])), "[]")
    source = op.operand("source")
    writer.let(op, call("extract", writer.of(source), indices), unsigned=writer.held[source].unsigned)


def lanes(writer: Writer, op: Op) -> None:
    writer.let(op, call("iota", writer.shape(op.result)))


def product(writer: Writer, op: Op) -> None:
    _unmarked(op, "fast_acc")
    writer.let(op, call("mmaf", *(writer.of(op.operand(name)) for name in ("lhs", "rhs", "acc"))))


def integer_product(writer: Writer, op: Op) -> None:
    ways = [f"signedness::{op.attributes[f'signedness_{side}'].capitalize()}" for side in ("lhs", "rhs")]
    sides = [
        writer.signed(op.operand(side), unsigned=op.attributes[f"signedness_{side}"] == "unsigned")
        for side in ("lhs", "rhs")
    ]
    writer.let(op, call("mmai", *sides, writer.of(op.operand("acc")), *ways))


def folded(writer: Writer, op: Op) -> None:
    (operand,) = _single(op)
    expr: Expr = call(FOLDS[_combined(op).name], writer.of(operand), f"{op.attributes['dim']}i32")
    unsigned = writer.held[operand].unsigned
    if any(not size.isdigit() for size in writer.dims(op.result)):
        # cuTile Rust 0.2.0 forgets that a reduced tile's sizes are generics; naming its shape tells it again.
        reduced = writer.names.fresh("reduced")
        writer.emit(rust.Let((reduced,), expr, writer.type(op.result, unsigned=unsigned)))
        expr = Method(word(reduced), "reshape", (writer.shape(op.result),))
    writer.let(op, expr, unsigned=unsigned)


def scanned(writer: Writer, op: Op) -> None:
    (operand,) = _single(op)
    if FOLDS[_combined(op).name] != "reduce_sum" or op.attributes["dim"] != "0":
        raise Untranslatable("a scan other than a sum along the first axis, which is all that cuTile Rust 0.2.0 scans")
    element = writer.element(op.result)
    zero = f"{element}::ZERO" if element in ("f16", "bf16") or len(element) == 1 else f"0{element}"
    way = "Reverse" if op.attributes.get("reverse") == "true" else "Forward"
    zero = "0.0f32" if element == "f32" else zero
    writer.let(op, call("scan_sum", writer.of(operand), "0i32", f"reverse::{way}", zero))


def _single(op: Op) -> tuple[Value, ...]:
    operands = tuple(op.all_operands())
    if len(operands) != 1:
        raise Untranslatable(f"a {op.name} of {len(operands)} tiles at once")
    return operands


def _combined(op: Op) -> Op:
    """The one operation of a fold's region, at its defaults."""
    ops = [one for one in op.regions[0].ops if one.name != "yield"]
    if len(ops) != 1 or ops[0].name not in FOLDS:
        raise Untranslatable(f"a {op.name} that combines by {', '.join(one.name for one in ops) or 'nothing'}")
    for attribute in ("propagate_nan", "flush_to_zero", "rounding_mode", "overflow"):
        _unmarked(ops[0], attribute)
    return ops[0]


def _unsigned(op: Op) -> bool:
    return op.attributes.get("signedness") == "unsigned"


def _unmarked(op: Op, attribute: str) -> None:
    if attribute in op.attributes:
        raise Untranslatable(f"`{op.name}` with {attribute} {op.attributes[attribute]}")


SPELLINGS: dict[str, Spelling] = {
    **dict.fromkeys(OPERATORS, operator),
    **dict.fromkeys(MATH, math),
    **dict.fromkeys(UNARY, unary),
    **dict.fromkeys(("fma",), math),
    **dict.fromkeys(("remf", "pow", "atan2"), unary),
    **dict.fromkeys(("maxf", "minf"), extremum),
    **dict.fromkeys(("exp", "tanh"), rounded_approximately),
    **dict.fromkeys(("exp2", "rsqrt"), flushing),
    **dict.fromkeys(("maxi", "mini"), integer_extremum),
    **dict.fromkeys(("shli", "shri"), shift),
    **dict.fromkeys(("ftof", "itof", "ftoi"), converted),
    **dict.fromkeys(("bitcast", "int_to_ptr", "ptr_to_int", "pack"), cast),
    **dict.fromkeys(("reshape", "broadcast"), reshaped),
    "sqrt": square_root,
    "remi": remainder,
    "divi": division,
    "trunci": narrowed,
    "mulhii": high_half,
    "cmpi": compared,
    "cmpf": compared_floats,
    "select": selected,
    "exti": widened,
    "permute": permuted,
    "cat": joined,
    "extract": extracted,
    "iota": lanes,
    "mmaf": product,
    "mmai": integer_product,
    "reduce": folded,
    "scan": scanned,
}
