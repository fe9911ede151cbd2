"""How `tileirdisasm` spells each operation: one table, used for reading and for writing.

$lhs    an operand             $index*  operands, comma-separated      $shape~  dimensions: numbers, operands
$mode!  a word                 $dim#    an integer                     $ftz+    a flag, the word itself
$text?  any text               $str"    a quoted string                $name@   a symbol
$iv%    defines a value        $init=   `%new = %old` pairs
@lhs    type of an operand     @index*  types of operands              @index^  one type if all are the same
@acc=   type of an operand, which is the result's too                  @=       types of the results
@dynamic  the type of the run-time dimensions                          «…»      left out if its first field is
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_ROUND = " «rounding<$rounding_mode!>»"
_MATH = f"$lhs, $rhs{_ROUND}« $flush_to_zero+» : @="
_WRAP = "$lhs, $rhs« overflow<$overflow!>» : @="
_MINMAX = "$lhs, $rhs« $flush_to_zero+»« $propagate_nan+» : @="
_PAIR = "$lhs, $rhs : @="
_SIGNED = "$lhs, $rhs $signedness! : @="
_UNARY = "$source : @="
_CAST = "$source : @source -> @="
_ENDS = "« $operands* : @operands*»"
_HINTS = "« optimization_hints = <$optimization_hints?>»"
_ORDER = "$memory_ordering_semantics!« $memory_scope!» "
_SYNC = "$memory_ordering_semantics! $memory_scope! "
_FOLD = "identities=[$identities?] : @operands* -> @= "


def _each(names: str, format_: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), format_)


FORMATS: dict[str, str] = {
    **_each("absf absi ceil cos cosh floor log log2 negf sin sinh tan", _UNARY),
    **_each("addf subf mulf divf", _MATH),
    **_each("addi subi muli shli", _WRAP),
    **_each("andi ori xori remf", _PAIR),
    **_each("pow fpowf", "$source, $exponent : @="),
    "atan2": "$x, $y : @=",
    **_each("maxf minf", _MINMAX),
    **_each("maxi mini remi shri", _SIGNED),
    **_each("bitcast broadcast reshape pack unpack int_to_ptr ptr_to_int ptr_to_ptr", _CAST),
    **_each("exp tanh", f"$source{_ROUND} : @="),
    **_each("exp2 rsqrt", "$source« $flush_to_zero+» : @="),
    **_each("break continue yield return", _ENDS),
    **_each("iota make_token", ": @="),
    **_each("get_tile_block_id get_num_tile_blocks", ": @=1"),
    **_each("get_index_space_shape get_tensor_shape", "$src : @src -> @=1"),
    **_each("make_partition_view make_strided_view make_gather_scatter_view", "$tensor_view : @="),
    "alloca": "num_elem = $num_elem#, alignment = $alignment#« $global+» : @=",
    "assert": '$condition, $message" : @condition',
    "assume": "$predicate?, $value : @value=",
    "atomic_cas_tko": (f"{_SYNC}$pointers, $cmp, $val«, $mask»« token=$token» : @pointers, @val«, @mask» -> @="),
    "atomic_rmw_tko": (f"{_SYNC}$pointers, $mode!, $arg«, $mask»« token=$token» : @pointers, @arg«, @mask» -> @="),
    "atomic_red_view_tko": (f"{_SYNC}$view[$index*], $mode!, $value« token = $token» : @value, @view, @index^ -> @="),
    "cat": "$lhs, $rhs dim = $dim# : @lhs, @rhs -> @=",
    "cmpf": "$comparison_predicate! $comparison_ordering! $lhs, $rhs : @lhs -> @=",
    "cmpi": "$comparison_predicate! $lhs, $rhs, $signedness! : @lhs -> @=",
    "constant": "<$value?> : @=",
    "divi": "$lhs, $rhs $signedness!« rounding<$rounding!>» : @=",
    "extract": "$source[$indices*] : @source -> @=",
    "exti": "$from $signedness! : @from -> @=",
    "fma": f"$lhs, $rhs, $acc{_ROUND}« $flush_to_zero+» : @=",
    "for": (
        "«$unsignedCmp+ »$iv% in ($lowerBound to $upperBound, step $step) : @iv%« iter_values($initValues=) -> (@=)» {"
    ),
    "fpowi": "$source, $exponent : @source=, @exponent",
    "ftof": f"$from{_ROUND} : @from -> @=",
    "ftoi": f"$from $signedness!{_ROUND}« $saturating+» : @from -> @=",
    "gdc_launch_dependents_tko": "«token = $token »-> @=",
    "gdc_wait_tko": "«token = $token »-> @=",
    "get_global": "$name@ : @=",
    "if": "$condition« -> (@=)» {",
    "insert": "$source, $destination[$indices*] : @source, @destination=",
    "itof": f"$from $signedness!{_ROUND} : @from -> @=",
    "join_tokens": "$tokens* : @=",
    "load_ptr_tko": (
        f"{_ORDER}$source«, $mask»«, $paddingValue»« token=$token»{_HINTS} : @source«, @mask»«, @paddingValue» -> @="
    ),
    "load_view_tko": f"{_ORDER}$view[$index*]« token = $token»{_HINTS} : @view, @index^ -> @=",
    "loop": "« iter_values($initValues=) : @initValues*»« -> @=» {",
    "loop without values": " : @= {",
    "make_tensor_view": "$base, shape = [$dynamicShape~], strides = [$dynamicStrides~] : «@dynamic -> »@=",
    "memory_fence_alias_tko": "$token",
    "mmaf": "$lhs, $rhs, $acc« $fast_acc+» : @lhs, @rhs, @acc=",
    "mmaf_scaled": ("$lhs, $rhs, $acc, $lhs_scale, $rhs_scale : @lhs, @rhs, @acc=, @lhs_scale, @rhs_scale"),
    "mmai": "$lhs, $rhs, $acc $signedness_lhs! $signedness_rhs! : @lhs, @rhs, @acc=",
    "mulhii": "$x, $y : @=",
    "negi": "$source« overflow<$overflow!>» : @=",
    "offset": "$ptr, $offset : @ptr, @offset -> @=",
    "permute": "$source [$permutation?] : @source -> @=",
    "print_tko": '$str"«, $args*»« token=$token»« : @args*» -> @=',
    "reduce": f"$operands* dim=$dim# {_FOLD}",
    "scan": f"$operands* dim=$dim# reverse=$reverse! {_FOLD}",
    "select": "$cond, $val_if_true, $val_if_false : @cond, @=",
    "sqrt": f"$source{_ROUND}« $flush_to_zero+» : @=",
    "store_ptr_tko": (
        f"{_ORDER}$destination, $value«, $mask»« token=$token»{_HINTS} : @destination, @value«, @mask» -> @="
    ),
    "store_view_tko": f"{_ORDER}$tile, $view[$index*]« token = $token»{_HINTS} : @tile, @view, @index^ -> @=",
    "trunci": "$from« overflow<$overflow!>» : @from -> @=",
}

LOOPS = frozenset({"for", "loop"})
FOLDS = frozenset({"reduce", "scan"})
TERMINATORS = frozenset({"break", "continue", "yield", "return"})


@dataclass(frozen=True, slots=True)
class Field:
    """One place in a format: `sort` is `$` or `@`, `kind` the mark behind the name or the empty string."""

    sort: str
    name: str
    kind: str


Part = str | Field | tuple["Part", ...]
"""Literal text, a field, or an optional group."""

_PIECE = re.compile(r"\$(\w+)([*!#+?\"~@%=]?)|@(\w*)(=1|[*^%=]?)|([^$@«»]+)|(«)|(»)")


@functools.cache
def parts(name: str) -> tuple[Part, ...]:
    """The format of one operation, taken apart; it starts with the blank behind the operation's name."""
    text = FORMATS[name]
    stack: list[list[Part]] = [[]]
    for operand, kind, typed, type_kind, literal, opens, closes in _PIECE.findall(
        text if text.startswith(("« $", "« i", " ")) else " " + text
    ):
        if operand:
            stack[-1].append(Field("$", operand, kind))
        elif literal:
            stack[-1].append(literal)
        elif opens:
            stack.append([])
        elif closes:
            group = tuple(stack.pop())
            stack[-1].append(group)
        else:
            stack[-1].append(Field("@", typed, type_kind))
    return tuple(stack[0])


def fields(of: tuple[Part, ...]) -> tuple[Field, ...]:
    """The fields of a format in order, those of optional groups too."""
    found: list[Field] = []
    for part in of:
        if isinstance(part, Field):
            found.append(part)
        elif isinstance(part, tuple):
            found.extend(fields(part))
    return tuple(found)
