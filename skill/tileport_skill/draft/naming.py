"""Rust names for Python names, and names for numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from tileport_skill.draft.rust import Call, Expr, Method, Word
from tileport_skill.draft.values import Array, Number, Tile, Value

KEYWORDS = frozenset(
    [
        "abstract",
        "as",
        "async",
        "await",
        "become",
        "box",
        "break",
        "const",
        "continue",
        "crate",
        "do",
        "dyn",
        "else",
        "enum",
        "extern",
        "false",
        "final",
        "fn",
        "for",
        "gen",
        "if",
        "impl",
        "in",
        "let",
        "loop",
        "macro",
        "match",
        "mod",
        "move",
        "mut",
        "override",
        "priv",
        "pub",
        "ref",
        "return",
        "self",
        "static",
        "struct",
        "super",
        "trait",
        "true",
        "try",
        "type",
        "typeof",
        "unsafe",
        "unsized",
        "use",
        "virtual",
        "where",
        "while",
        "yield",
    ]
)
CORE = frozenset(
    [
        "absf",
        "absi",
        "addi",
        "addf",
        "bitcast",
        "broadcast",
        "broadcast_scalar",
        "cat",
        "ceil",
        "ceil_div",
        "cmpf",
        "cmpi",
        "constant",
        "convert_scalar",
        "convert_tile",
        "cos",
        "divf",
        "exp",
        "exp2",
        "extract",
        "floor",
        "fma",
        "iota",
        "log",
        "log2",
        "max",
        "maxf",
        "maxi",
        "min",
        "minf",
        "mini",
        "mma",
        "mmaf",
        "mulf",
        "muli",
        "negf",
        "negi",
        "permute",
        "pow",
        "print",
        "reduce",
        "reduce_max",
        "reduce_min",
        "reduce_sum",
        "remf",
        "reshape",
        "rsqrt",
        "scan",
        "select",
        "sin",
        "sqrt",
        "subf",
        "tan",
        "tanh",
    ]
)
"""Functions of cuTile that a variable of the same name would hide."""
NUMBERS = {
    "0": "zero",
    "1": "one",
    "2": "two",
    "3": "three",
    "0.5": "half",
    "-1": "minus_one",
    "inf": "infinity",
    "-inf": "negative_infinity",
}


def snake(name: str) -> str:
    """`TILE_M` and `Q` in lower case; other names as they are, but for leading underscores."""
    plain = name.lstrip("_") or name
    return plain.lower() if plain.isupper() or plain[:1].isupper() else plain


def rust_name(name: str, env: Mapping[str, Value], taken: Collection[str]) -> str:
    """What a Python variable is called: its own name, in Rust's case, without hiding another variable's."""
    plain = snake(name)
    if plain in KEYWORDS or plain in CORE:
        plain = f"{plain}_"
    owner = next((other for other, value in env.items() if other != name and _word(value) == plain), None)
    while owner is not None:
        plain = f"{plain}_"
        owner = next((other for other, value in env.items() if other != name and _word(value) == plain), None)
    return plain


def _word(value: Value) -> str | None:
    match value:
        case Tile(expr=Word(text)) | Number(expr=Word(text)):
            return text
        case Array():
            return value.name
    return None


def constant_name(name: str) -> str:
    """A const generic's name: `check_bounds` becomes `CHECK_BOUNDS`."""
    return name.lstrip("_").upper()


def literal_name(value: int | float) -> str:
    """`one`, `half`, `constant_0_044715`."""
    number = float(str(np.float32(value))) if isinstance(value, float) else float(value)
    key = str(int(number)) if abs(number) < 1e15 and number.is_integer() else repr(number)
    if key in NUMBERS:
        return NUMBERS[key]
    return "constant_" + key.replace(".", "_").replace("-", "minus_").replace("+", "")


def module_name(operator: str) -> str:
    return f"{operator}_module"


def function_name(kernel: str) -> str:
    """`_relu_fwd_kernel` becomes `relu_fwd_kernel`."""
    return snake(kernel)


def step_name(expr: Expr, element: str) -> str | None:
    """What to call a step that the source does not name: `x_sum`, `x_f32`; None if its expression tells nothing."""
    match expr:
        case Call("iota", _):
            return "lanes"
        case Call("reduce_sum" | "reduce_max" | "reduce_min" | "reduce_prod" as function, (Word(text), *_)):
            return f"{text}_{function.removeprefix('reduce_')}"
        case Call("convert_tile", (Word(text),)):
            return f"{text}_{element.lower()}"
        case Call("permute", (Word(text), *_)):
            return f"{text}_permuted"
        case Call("scalar_to_tile", (Word(text),)):
            return f"{text.lower()}_tile"
        case Method(Word(text), "reshape", _):
            return f"{text}_reshaped"
    return None
