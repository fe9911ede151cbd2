"""Rewrite rules, each a small named object that its own test shows to be true.

A rule looks at one key of the graph and answers with a simpler one, or with the number of something that is
there already. Rules that hold for real numbers only say so, and a proof that uses one says so too.
"""

from __future__ import annotations

from tileport_skill.tileir.constant_rules import OF_CONSTANTS
from tileport_skill.tileir.elements import canonical
from tileport_skill.tileir.keys import whole_number
from tileport_skill.tileir.numbering import Key, Numbering
from tileport_skill.tileir.range_rules import EXACT_BY_RANGE, IN_RANGE
from tileport_skill.tileir.rewriting import (
    Rewrite,
    Rule,
    attributes,
    made_by,
    operands,
    plain,
    tile_type,
    type_of,
)
from tileport_skill.tileir.types import Tile

__all__ = ["EXACT", "IN_RANGE", "OVER_REALS"]

_INVERSE = {
    "less_than": "greater_than_or_equal",
    "greater_than_or_equal": "less_than",
    "greater_than": "less_than_or_equal",
    "less_than_or_equal": "greater_than",
    "equal": "not_equal",
    "not_equal": "equal",
}
_MIRROR = {"greater_than": "less_than", "greater_than_or_equal": "less_than_or_equal"}


def _reshape_twice(numbering: Numbering, key: Key) -> int | Key | None:
    if key[0] not in ("reshape", "broadcast"):
        return None
    (source,) = operands(key)
    if type_of(numbering, source) == tile_type(key):
        return source
    inner = made_by(numbering, source, str(key[0]))
    return None if inner is None else (*key[:3], *operands(inner))


def _splat(numbering: Numbering, key: Key) -> Key | None:
    if key[0] not in ("reshape", "broadcast"):
        return None
    constant = made_by(numbering, operands(key)[0], "constant")
    if constant is None or str(constant[1]).startswith("["):
        return None
    return ("constant", constant[1], tile_type(key))


def _permute_twice(numbering: Numbering, key: Key) -> int | Key | None:
    if key[0] != "permute":
        return None
    (source,) = operands(key)
    order = [int(d) for d in attributes(key)["permutation"].split(", ")]
    if order == list(range(len(order))):
        return source
    inner = made_by(numbering, source, "permute")
    if inner is None:
        return None
    first = [int(d) for d in attributes(inner)["permutation"].split(", ")]
    both = ", ".join(str(first[d]) for d in order)
    return ("permute", (("permutation", both),), key[2], *operands(inner))


def _neutral(name: str, neutral: int) -> Rewrite:
    def rewrite(numbering: Numbering, key: Key) -> int | None:
        if key[0] != name:
            return None
        left, right = operands(key)
        if whole_number(numbering.keys[right]) == neutral:
            return left
        if name in ("addi", "muli", "ori", "xori") and whole_number(numbering.keys[left]) == neutral:
            return right
        return None

    return rewrite


def _both_the_same(numbering: Numbering, key: Key) -> int | None:
    if key[0] in ("andi", "ori", "maxi", "mini"):
        left, right = operands(key)
        return left if left == right else None
    return None


def _subtract_constant(numbering: Numbering, key: Key) -> Key | None:
    if key[0] != "subi" or not plain(key):
        return None
    left, right = operands(key)
    value = whole_number(numbering.keys[right])
    type_ = tile_type(key)
    if value is None or type_ is None or value == -(1 << (_width(type_) - 1)):
        return None
    return ("addi", (), key[2], *sorted((left, numbering.number(("constant", str(-value), type_)))))


def _width(type_: Tile) -> int:
    return int(str(type_.element)[1:])


def _wrap(value: int, width: int) -> int:
    """`value` as a signed number of `width` bits."""
    return (value + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))


def _fold(numbering: Numbering, key: Key) -> Key | None:
    if key[0] not in ("addi", "subi", "muli") or not plain(key):
        return None
    type_ = tile_type(key)
    left, right = (whole_number(numbering.keys[n]) for n in operands(key))
    if left is None or right is None or type_ is None or type_.element == "i1":
        return None
    exact = {"addi": left + right, "subi": left - right, "muli": left * right}[str(key[0])]
    return ("constant", str(_wrap(exact, _width(type_))), type_)


def _compared_with_itself(numbering: Numbering, key: Key) -> Key | None:
    """cuTile Rust 0.2.0 has no other word for false than a comparison that never holds."""
    if key[0] != "cmpi" or len(set(operands(key))) != 1:
        return None
    holds = str(attributes(key)["comparison_predicate"]).endswith("equal")
    never = attributes(key)["comparison_predicate"] == "not_equal"
    return ("constant", "true" if holds and not never else "false", tile_type(key))


def _add_twice(numbering: Numbering, key: Key) -> Key | None:
    """(x + c) + d is x + (c + d); so is a product."""
    if key[0] not in ("addi", "muli") or not plain(key):
        return None
    for outer, inner in (operands(key), operands(key)[::-1]):
        nested = made_by(numbering, inner, str(key[0]))
        if whole_number(numbering.keys[outer]) is None or nested is None or not plain(nested):
            continue
        for value, constant in (operands(nested), operands(nested)[::-1]):
            if whole_number(numbering.keys[constant]) is not None:
                joined = numbering.number((key[0], (), key[2], *sorted((outer, constant))))
                return (key[0], (), key[2], *sorted((value, joined)))
    return None


def _mirror(numbering: Numbering, key: Key) -> Key | None:
    if key[0] not in ("cmpi", "cmpf"):
        return None
    given = attributes(key)
    predicate = given["comparison_predicate"]
    left, right = operands(key)
    if predicate in _MIRROR:
        given["comparison_predicate"] = _MIRROR[predicate]
        return (key[0], tuple(sorted(given.items())), key[2], right, left)
    if predicate in ("equal", "not_equal") and left > right:
        return (*key[:3], right, left)
    return None


def _negated(numbering: Numbering, number: int) -> int | None:
    """What `number` is the negation of, if it is `xori x, true`."""
    key = numbering.keys[number]
    type_ = tile_type(key) if key[0] == "xori" else None
    if type_ is None or type_.element != "i1":
        return None
    for value, constant in (operands(key), operands(key)[::-1]):
        flipped = numbering.keys[constant]
        if flipped[0] == "constant" and flipped[1] == "true":
            return value
    return None


def _not_of(numbering: Numbering, key: Key) -> int | Key | None:
    """not not x is x; not (a < b) is a >= b for integers."""
    type_ = tile_type(key) if key[0] == "xori" else None
    if type_ is None or type_.element != "i1":
        return None
    for value, constant in (operands(key), operands(key)[::-1]):
        flipped = numbering.keys[constant]
        if flipped[0] != "constant" or flipped[1] != "true":
            continue
        inner = _negated(numbering, value)
        if inner is not None:
            return inner
        compared = made_by(numbering, value, "cmpi")
        if compared is not None:
            given = attributes(compared)
            given["comparison_predicate"] = _INVERSE[given["comparison_predicate"]]
            return ("cmpi", tuple(sorted(given.items())), *compared[2:])
    return None


def _select(numbering: Numbering, key: Key) -> int | Key | None:
    if key[0] != "select":
        return None
    condition, yes, no = operands(key)
    if yes == no:
        return yes
    inner = _negated(numbering, condition)
    return None if inner is None else (*key[:3], inner, no, yes)


def _extend_twice(numbering: Numbering, key: Key) -> Key | None:
    if key[0] != "exti":
        return None
    inner = made_by(numbering, operands(key)[0], "exti")
    return (*key[:3], *operands(inner)) if inner is not None and inner[1] == key[1] else None


def _float_is(numbering: Numbering, number: int, value: float) -> bool:
    key = numbering.keys[number]
    if key[0] != "constant" or not isinstance(key[1], str):
        return False
    try:
        return float(key[1]) == value and not key[1].startswith("0x")
    except ValueError:
        return False


def _times_one(numbering: Numbering, key: Key) -> int | None:
    """Exact, whatever the rounding; not with flush to zero, which changes denormals."""
    if key[0] not in ("mulf", "divf") or "flush_to_zero" in attributes(key):
        return None
    if attributes(key).get("rounding_mode") in ("approx", "full"):
        return None
    left, right = operands(key)
    if _float_is(numbering, right, 1.0):
        return left
    return right if key[0] == "mulf" and _float_is(numbering, left, 1.0) else None


def _negate_twice(numbering: Numbering, key: Key) -> int | None:
    inner = made_by(numbering, operands(key)[0], "negf") if key[0] == "negf" else None
    return None if inner is None else operands(inner)[0]


def _subtract_negative(numbering: Numbering, key: Key) -> Key | None:
    """a - b is a + (-b), and a + (-b) is spelled so."""
    if key[0] != "subf":
        return None
    left, right = operands(key)
    negative = numbering.number(("negf", (), key[2], right))
    return ("addf", key[1], key[2], *sorted((left, negative)))


def _exp(numbering: Numbering, key: Key) -> Key | None:
    """exp(x) is exp2(x · log2 e), with the constant as cuTile writes it."""
    type_ = tile_type(key)
    if key[0] != "exp" or not plain(key) or type_ is None or type_.element != "f32":
        return None  # an approximate one is not as exact as the other form
    factor = numbering.number(("constant", canonical("1.44269502", "f32"), type_))
    product = numbering.number(("mulf", (), key[2], *sorted((operands(key)[0], factor))))
    return ("exp2", (), key[2], product)


def _fused(numbering: Numbering, key: Key) -> Key | None:
    """a · b + c rounded once is rounded twice."""
    if key[0] != "fma":
        return None
    left, right, add = operands(key)
    product = numbering.number(("mulf", key[1], key[2], *sorted((left, right))))
    return ("addf", key[1], key[2], *sorted((product, add)))


EXACT: tuple[Rule, ...] = (
    Rule("reshape or broadcast twice", _reshape_twice),
    Rule("reshaped constant", _splat),
    Rule("permute twice", _permute_twice),
    Rule("x + 0", _neutral("addi", 0)),
    Rule("x - 0", _neutral("subi", 0)),
    Rule("x * 1", _neutral("muli", 1)),
    Rule("x / 1", _neutral("divi", 1)),
    Rule("x | 0", _neutral("ori", 0)),
    Rule("x ^ 0", _neutral("xori", 0)),
    Rule("x << 0", _neutral("shli", 0)),
    Rule("x >> 0", _neutral("shri", 0)),
    Rule("x op x", _both_the_same),
    Rule("x < x", _compared_with_itself),
    Rule("x - c", _subtract_constant),
    Rule("constants", _fold),
    Rule("constants together", _add_twice),
    Rule("a > b", _mirror),
    Rule("not", _not_of),
    Rule("select", _select),
    Rule("extend twice", _extend_twice),
    Rule("x * 1.0", _times_one),
    Rule("-(-x)", _negate_twice),
    Rule("a - b", _subtract_negative),
    *OF_CONSTANTS,
    *EXACT_BY_RANGE,
)

OVER_REALS: tuple[Rule, ...] = (
    Rule("exp by exp2", _exp, over_reals=True),
    Rule("fused multiply-add", _fused, over_reals=True),
)
