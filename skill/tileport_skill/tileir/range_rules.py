"""Rewrite rules that rest on what is known of a number: that it is not negative, or never unspecified.

Those of `IN_RANGE` need something more that the kernel does not show; each says what, and so does a proof.
"""

from __future__ import annotations

from tileport_skill.tileir.keys import whole_number
from tileport_skill.tileir.numbering import Key, Numbering
from tileport_skill.tileir.rewriting import Rule, attributes, made_by, operands, plain, tile_type

_DEPTH = 12
_NO_WRAP = "no size plus a tile's size reaches 2^31"
_SAME_SIGN = ("reshape", "broadcast", "permute", "exti", "mini", "maxi", "andi", "select", "branch")
"""Not negative if what they are made of is not."""
_NEVER_UNSPECIFIED = (
    *("addi", "subi", "muli", "divi", "remi", "mini", "maxi", "andi", "ori", "xori", "shli", "shri", "cmpi", "exti"),
    *("trunci", "reshape", "broadcast", "permute", "select", "branch", "iota"),
)


def not_negative(numbering: Numbering, number: int, depth: int = _DEPTH) -> bool:
    """Whether the integers of `number` are at least zero whenever the kernel has a meaning."""
    key = numbering.keys[number]
    value = whole_number(key)
    if value is not None:
        return value >= 0
    if any(fact.kind == "at least" and (fact.number or 0) >= 0 for fact in numbering.facts.get(number, ())):
        return True
    if key[0] == "iota":
        return True
    if key[0] == "result" and isinstance(key[1], int):
        return numbering.keys[key[1]][0] in ("get_tile_block_id", "get_num_tile_blocks", "get_index_space_shape")
    if key[0] in _SAME_SIGN and depth > 0:
        if key[0] == "exti" and attributes(key).get("signedness") != "signed":
            return False
        parts = operands(key)[1:] if key[0] in ("select", "branch") else operands(key)
        return all(not_negative(numbering, part, depth - 1) for part in parts)
    return False


def always_specified(numbering: Numbering, number: int, depth: int = _DEPTH) -> bool:
    """Whether `number` depends on arguments, block numbers and loop indices alone, never on memory."""
    key = numbering.keys[number]
    if key[0] in ("argument", "constant", "index"):
        return True
    if key[0] == "result" and isinstance(key[1], int):
        return numbering.keys[key[1]][0] in ("get_tile_block_id", "get_num_tile_blocks", "get_index_space_shape")
    if key[0] not in _NEVER_UNSPECIFIED or depth == 0:
        return False
    return all(always_specified(numbering, part, depth - 1) for part in operands(key))


def _signed(numbering: Numbering, key: Key) -> Key | None:
    """Two numbers that are not negative compare alike with and without a sign."""
    given = attributes(key)
    if key[0] != "cmpi" or given.get("signedness") != "unsigned":
        return None
    if not all(not_negative(numbering, part) for part in operands(key)):
        return None
    return ("cmpi", tuple(sorted((given | {"signedness": "signed"}).items())), *key[2:])


def _choice(numbering: Numbering, key: Key) -> Key | None:
    """A branch without effects chooses between two values; so does `select`, if the condition is never unspecified."""
    if key[0] != "branch" or not always_specified(numbering, operands(key)[0]):
        return None
    return ("select", *key[1:])


def _least(numbering: Numbering, key: Key) -> Key | None:
    """`a < b ? a : b` is the smaller, the other way round the larger."""
    if key[0] != "select":
        return None
    condition, yes, no = operands(key)
    compared = made_by(numbering, condition, "cmpi")
    if compared is None or attributes(compared).get("comparison_predicate") not in ("less_than", "less_than_or_equal"):
        return None
    left, right = operands(compared)
    name = {(left, right): "mini", (right, left): "maxi"}.get((yes, no))
    signedness = (("signedness", attributes(compared)["signedness"]),)
    return None if name is None else (name, signedness, key[2], *sorted((yes, no)))


def _rounded_up(numbering: Numbering, key: Key) -> Key | None:
    """(x + (c - 1)) / c rounded down is x / c rounded up, for powers of two, where the sum does not wrap."""
    given = attributes(key)
    if key[0] != "divi" or given.get("signedness") != "signed":
        return None
    number, divisor = operands(key)
    by = whole_number(numbering.keys[divisor])
    added = made_by(numbering, number, "addi")
    if by is None or by <= 1 or by & (by - 1) or added is None or not plain(added) or tile_type(added) is None:
        return None
    for value, constant in (operands(added), operands(added)[::-1]):
        rounds_down = given.get("rounding") == "negative_inf" or not_negative(numbering, value)
        if whole_number(numbering.keys[constant]) == by - 1 and rounds_down and given.get("rounding") != "positive_inf":
            return ("divi", tuple(sorted((given | {"rounding": "positive_inf"}).items())), key[2], value, divisor)
    return None


EXACT_BY_RANGE: tuple[Rule, ...] = (
    Rule("unsigned comparison", _signed),
    Rule("branch as choice", _choice),
    Rule("choice as minimum", _least),
)

IN_RANGE: tuple[Rule, ...] = (Rule("division rounded up", _rounded_up, while_true=_NO_WRAP),)
