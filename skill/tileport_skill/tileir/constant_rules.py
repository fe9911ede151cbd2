"""Rewrite rules for what is done to a constant: converted, compared, read as other bits, or used to shift by.

They hold because the interpreter's own arithmetic computes the result.
"""

from __future__ import annotations

import numpy as np

from tileport_skill.tileir.elements import STORAGE, canonical, is_float, narrow, read_constant
from tileport_skill.tileir.keys import whole_number
from tileport_skill.tileir.known_branches import holds
from tileport_skill.tileir.numbering import Key, Numbering
from tileport_skill.tileir.rewriting import Rule, attributes, made_by, operands, plain, tile_type, type_of
from tileport_skill.tileir.types import Tile


def _constant_in(numbering: Numbering, key: Key) -> tuple[str, str, Tile] | None:
    """Of an operation on one constant: its text and element type, and the type of the result."""
    made = made_by(numbering, operands(key)[0], "constant")
    type_, source = tile_type(key), type_of(numbering, operands(key)[0])
    if made is None or str(made[1]).startswith("[") or type_ is None or not isinstance(source, Tile):
        return None
    return str(made[1]), str(source.element), type_


def _converted(numbering: Numbering, key: Key) -> Key | None:
    """A constant rounded to another floating type is the constant that it is rounded to."""
    if key[0] != "ftof" or attributes(key).get("rounding_mode", "nearest_even") != "nearest_even":
        return None
    found = _constant_in(numbering, key)
    if found is None:
        return None
    text, element, type_ = found
    target = str(type_.element)
    if {element, target} - {"f16", "bf16", "f32", "f64"}:
        return None
    value = narrow(read_constant(text, element, ()), target)
    return ("constant", canonical(str(float(value)), target), type_) if np.isfinite(float(value)) else None


def _whole(numbering: Numbering, key: Key) -> Key | None:
    """A whole number as a floating constant, where nothing has to be rounded."""
    found = _constant_in(numbering, key) if key[0] == "itof" and attributes(key).get("signedness") == "signed" else None
    if found is None or is_float(found[1]) or str(found[2].element) not in ("f16", "bf16", "f32", "f64"):
        return None
    text, element, type_ = found
    exact = int(read_constant(text, element, ()))
    value = float(STORAGE[str(type_.element)].type(exact))
    return ("constant", canonical(str(value), str(type_.element)), type_) if value == exact else None


def _widened(numbering: Numbering, key: Key) -> Key | None:
    """A whole number in more bits, its sign kept, is the same number."""
    found = _constant_in(numbering, key) if key[0] == "exti" and attributes(key).get("signedness") == "signed" else None
    if found is None or found[1] == "i1" or is_float(found[1]):
        return None
    text, element, type_ = found
    return ("constant", str(int(read_constant(text, element, ()))), type_)


def _bits(numbering: Numbering, key: Key) -> Key | None:
    """The bits of a whole number are a floating constant."""
    found = _constant_in(numbering, key) if key[0] == "bitcast" else None
    if found is None or is_float(found[1]) or not is_float(str(found[2].element)):
        return None
    text, element, type_ = found
    target = str(type_.element)
    if STORAGE[element].itemsize != STORAGE[target].itemsize:
        return None
    value = float(read_constant(text, element, ()).copy().view(STORAGE[target]))
    return ("constant", canonical(str(value), target), type_) if np.isfinite(value) else None


def _shift(numbering: Numbering, key: Key) -> Key | None:
    """Shifted left by a known distance, a number is multiplied by a power of two; what overflows is lost in both."""
    if key[0] != "shli" or not plain(key):
        return None
    left, right = operands(key)
    distance, type_ = whole_number(numbering.keys[right]), tile_type(key)
    if distance is None or type_ is None or not 0 <= distance < int(str(type_.element)[1:]) - 1:
        return None
    power = numbering.number(("constant", str(1 << distance), type_))
    return ("muli", (), key[2], *sorted((left, power)))


def _of_one(numbering: Numbering, key: Key) -> Key | None:
    """The sum of one positive zero is that zero, and the largest of one number that number."""
    if key[0] != "reduce" or len(operands(key)) != 2:
        return None
    source, combined = operands(key)
    constant, body, type_ = made_by(numbering, source, "constant"), numbering.keys[combined], tile_type(key)
    over = type_of(numbering, source)
    if constant is None or str(constant[1]).startswith("[") or type_ is None or not isinstance(over, Tile):
        return None
    if over.shape[int(attributes(key)["dim"])] != 1 or not isinstance(body[-1], int) or len(body) != 2:
        return None
    step = numbering.keys[body[-1]]
    text = str(constant[1])
    sums = step[0] == "addf" and text == "0.0"
    largest = step[0] == "maxf" and plain(step) and not text.startswith("0x7")
    both = {numbering.keys[one][0] for one in operands(step)} == {"operand"} and len(set(operands(step))) == 2
    return ("constant", text, type_) if (sums or largest) and both else None


_TRUTHS = {"true": 1, "false": 0}


def _truth(numbering: Numbering, number: int) -> int | None:
    key = numbering.keys[number]
    return _TRUTHS.get(str(key[1])) if key[0] == "constant" else None


def _compared(numbering: Numbering, key: Key) -> Key | None:
    """cuTile Rust leaves to the assembler what cuTile Python compares while it traces."""
    if key[0] != "cmpi":
        return None
    truths = [_truth(numbering, part) for part in operands(key)]
    left, right = (whole_number(numbering.keys[part]) if truth is None else truth
                   for part, truth in zip(operands(key), truths, strict=True))  # fmt: skip
    known = None if left is None or right is None else holds(attributes(key), None not in truths, left, right)
    return None if known is None else ("constant", "true" if known else "false", tile_type(key))


def _truths(numbering: Numbering, key: Key) -> int | None:
    """x & true is x, and so are x | false and x ^ false."""
    neutral = {"andi": 1, "ori": 0, "xori": 0}.get(str(key[0]))
    if neutral is None:
        return None
    left, right = operands(key)
    if _truth(numbering, right) == neutral:
        return left
    return right if _truth(numbering, left) == neutral else None


OF_CONSTANTS: tuple[Rule, ...] = (
    Rule("sum of one constant", _of_one),
    Rule("converted constant", _converted),
    Rule("whole number", _whole),
    Rule("widened constant", _widened),
    Rule("bits of a constant", _bits),
    Rule("x << c", _shift),
    Rule("compared constants", _compared),
    Rule("x & true", _truths),
)
