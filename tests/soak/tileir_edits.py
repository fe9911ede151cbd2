"""Edits of a kernel's text that change what it computes or promises: the kinds of mutants."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Edit = Callable[[list[str], int, random.Random], list[str] | None]
"""Changes the line at a place of a kernel's text; None if there is nothing to change there."""

V = r"%[\w#]+"


def sub(pattern: str, *replacements: str) -> Edit:
    """Replaces what `pattern` finds in a line by one of `replacements`."""

    def edit(lines, at, chance):
        new, count = re.subn(pattern, chance.choice(replacements), lines[at], count=1)
        return [*lines[:at], new, *lines[at + 1 :]] if count and new != lines[at] else None

    return edit


def insert_before(pattern: str, made: Callable[[re.Match], tuple[list[str], str]]) -> Edit:
    """Puts new lines before a line that `pattern` finds, and changes the line to use them."""

    def edit(lines, at, chance):
        found = re.search(pattern, lines[at])
        if not found:
            return None
        new, changed = made(found)
        return [*lines[:at], *("  " + line for line in new), changed, *lines[at + 1 :]]

    return edit


def everywhere(pattern: str, replacement: str) -> Edit:
    """As `sub`, in all lines at once; only offered at the first line it applies to."""

    def edit(lines, at, chance):
        if any(re.search(pattern, line) for line in lines[:at]) or not re.search(pattern, lines[at]):
            return None
        return [re.sub(pattern, replacement, line) for line in lines]

    return edit


def after_result(pattern: str, new: Callable[[str], list[str]]) -> Edit:
    """Puts lines behind an operation that redefine its result as `%mutated` for all that follows in the block."""

    def edit(lines, at, chance):
        found = re.search(rf"^( *)({V}) = {pattern}", lines[at])
        if not found:
            return None
        rest = [re.sub(re.escape(found[2]) + r"(?![\w#])", "%mutated", line) for line in lines[at + 1 :]]
        return [*lines[: at + 1], *(found[1] + line for line in new(found[2])), *rest]

    return edit


def other_operand(lines: list[str], at: int, chance: random.Random) -> list[str] | None:
    """Uses another value of the same type, defined before."""
    found = re.search(rf"= (addf|mulf|subf|maxf|minf|addi|muli|subi|divf) ({V}), ({V}).*: (tile<\S+>)$", lines[at])
    if not found:
        return None
    others = [
        m[1] for line in lines[:at]
        if (m := re.match(rf" *({V}) = (?!assume).* (tile<\S+>)$", line)) and m[2] == found[4]
    ]  # fmt: skip
    others = [name for name in others if name not in (found[2], found[3])]
    if not others:
        return None
    return [*lines[:at], lines[at].replace(found[3], chance.choice(others), 1), *lines[at + 1 :]]


def dropped_store(lines: list[str], at: int, chance: random.Random) -> list[str] | None:
    found = re.match(rf" *({V}) = store_", lines[at])
    if not found or any(re.search(re.escape(found[1]) + r"(?![\w#])", line) for line in lines[at + 1 :]):
        return None
    return [*lines[:at], *lines[at + 1 :]]


def dropped_mask(lines: list[str], at: int, chance: random.Random) -> list[str] | None:
    new, count = re.subn(rf"(load_ptr_tko \w+ {V}), {V}, {V}", r"\1", lines[at])
    if count:
        new = re.sub(r"(: tile<[^,]*>), tile<[^,]*>, tile<[^,]*> ->", r"\1 ->", new)
    else:
        new, count = re.subn(rf"(store_ptr_tko \w+ {V}, {V}), {V}", r"\1", lines[at])
        new = re.sub(r"(: tile<[^,]*>, tile<[^,]*>), tile<[^,]*> ->", r"\1 ->", new)
    return [*lines[:at], new, *lines[at + 1 :]] if count else None


def number(name: str, value: int, like: str = "tile<i32>") -> str:
    return f"{name} = constant <i32: {value}> : {like}"


def bound(which: int, by: int) -> Edit:
    """Moves a loop's start (0), end (1) or step (2)."""

    def made(found: re.Match) -> tuple[list[str], str]:
        old = found[2 + which]
        new = [number("%by", by), f"%moved = addi {old}, %by : tile<i32>"]
        places = [found[2], found[3], found[4]]
        places[which] = "%moved"
        line = f"{found[1]}({places[0]} to {places[1]}, step {places[2]}){found[5]}"
        return new, line

    return insert_before(rf"^(.* in )\(({V}) to ({V}), step ({V})\)(.*)$", made)


_VIEW_INDEX = rf"^(.*(?:load|store)_view_tko.*\[)({V}), ({V})(\].*)$"

MUTANTS: dict[str, Edit] = {
    "swapped operands": sub(rf"(= (?:subf|divf|subi|divi|remi) )({V}), ({V})", r"\1\3, \2"),
    "swapped comparison": sub(rf"(= cmp[if] (?:less|greater)\w* (?:ordered |unordered )?)({V}), ({V})", r"\1\3, \2"),
    "swapped arms": sub(rf"(= select {V}, )({V}), ({V})", r"\1\3, \2"),
    "wrong axis": sub(r"dim=1 (.*tile<(\d+)x\2x)", r"dim=0 \1"),
    "wrong permutation": sub(r"\[1, 0\] : tile<(\d+)x\1x", r"[0, 1] : tile<\1x\1x"),
    "wrong identity": sub(r"identities=\[(?:0.000000e\+00|0xFF800000)", "identities=[2.000000e+00"),
    "wrong combiner": sub(r"= (addf|maxf) (%reduce_lhs|%arg\d+), ", r"= mulf \2, ", r"= minf \2, "),
    "dropped mask": dropped_mask,
    "padding value": everywhere(r"padding_value = (zero|neg_inf)", "padding_value = pos_inf"),
    "padding lost": everywhere(r"padding_value = \w+, ", ""),
    "loop start": bound(0, 1),
    "loop end": bound(1, -1),
    "loop end too far": bound(1, 1),
    "loop step": bound(2, 1),
    "index swap": sub(_VIEW_INDEX, r"\1\3, \2\4"),
    "index off by one": insert_before(
        _VIEW_INDEX,
        lambda f: ([number("%by", 1), f"%moved = addi {f[2]}, %by : tile<i32>"], f"{f[1]}%moved, {f[3]}{f[4]}"),
    ),
    "stride and size swap": sub(rf"(shape = \[){V}, ({V})(\], strides = \[)({V})", r"\1\4, \2\3\2"),
    "another array": sub(r"(make_tensor_view )%\w+,", r"\1%arg0,", r"\1%arg5,"),
    "accumulator downgrade": after_result(
        r"mmaf .*tile<16x16xf32>$",
        lambda r: [f"%half = ftof {r}  : tile<16x16xf32> -> tile<16x16xbf16>",
                   "%mutated = ftof %half  : tile<16x16xbf16> -> tile<16x16xf32>"],
    ),
    "missing precision": after_result(
        r"(?:addf|mulf|divf|subf|exp2?|negf) .*: tile<1x32xf32>$",
        lambda r: [f"%half = ftof {r}  : tile<1x32xf32> -> tile<1x32xbf16>",
                   "%mutated = ftof %half  : tile<1x32xbf16> -> tile<1x32xf32>"],
    ),
    "rounding": sub(r"(= (?:addf|mulf|subf|divf) .*?)  : (tile<.*xf32>)$", r"\1 rounding<zero> : \2"),
    "flush to zero": sub(r"(= (?:addf|mulf|subf) .*?)  : (tile<.*xf32>)$", r"\1  flush_to_zero : \2"),
    "wrong predicate": sub(r"(cmp[if] \w+?_than) ", r"\1_or_equal "),
    "inverted predicate": sub(r"cmp([if]) less_than ", r"cmp\1 greater_than "),
    "signedness": sub(r"(= (?:divi|remi|maxi|mini|shri) .*)signed", r"\1unsigned"),
    "wrong operation": sub(r"= (addf|mulf) ", "= subf ", "= maxf "),
    "wrong integer operation": sub(rf"= (addi|muli) ({V}, {V})", r"= subi \2", r"= xori \2"),
    "wrong function": sub(r"= (exp2?|rsqrt) ", "= log2 ", "= sqrt "),
    "wrong extreme": sub(r"= maxf ", "= minf "),
    "constant": sub(r"<f32: (?!0.0)[-\d.e+]+>", "<f32: 1.250000e+00>"),
    "integer constant": sub(r"<i32: ([1-9]\d*)>", r"<i32: 1\1>"),
    "missing negation": sub(rf"= negf ({V}) :", r"= absf \1 :"),
    "block number": everywhere(r"%blockId_x(?=[\],])(?!.*get_tile)", "%blockId_y"),
    "other operand": other_operand,
    "dropped store": dropped_store,
    "carried values crossed": sub(
        rf"continue ((?:{V}, )*)({V}), ({V})((?:, {V})*) : (.*)$", r"continue \1\3, \2\4 : \5"
    ),
    "atomic mode": sub(r"(atomic_rmw_tko .*), add,", r"\1, max,", r"\1, xchg,"),
    "scan direction": sub("reverse=false", "reverse=true"),
    "branch condition": insert_before(
        rf"^( *)if ({V}) (.*)$",
        lambda f: (["%true_m = constant <i1: true> : tile<i1>", f"%flip = xori {f[2]}, %true_m : tile<i1>"],
                   f"{f[1]}if %flip {f[3]}"),
    ),
    "stronger promise": sub(r"(assume div_by<)(\d+)(>, %arg\d+ )", r"\g<1>1024\3"),
    "token lost": sub(rf" token ?= ?{V}", ""),
}  # fmt: skip

BY_ARITHMETIC = {"stronger promise"}
"""Different whatever a run says: an argument that the original takes and the mutant must not be given."""

SPEED: dict[str, Edit] = {
    "weaker promise": sub(r"(assume div_by<)(\d+)(>, %arg\d+ )", r"\g<1>2\3"),
}
