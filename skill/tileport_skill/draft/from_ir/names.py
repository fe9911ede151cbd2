"""Names for values: the Python source's variables where the source line information tells them, else what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tileport_skill.draft.naming import CORE, KEYWORDS
from tileport_skill.draft.rust import Call, Expr, Method, Word
from tileport_skill.tileir.records import Op, Value

Hint = Callable[[Op, Value], str | None]
"""The source's own name for a result of an operation."""

STEPS = {
    "addf": "sum",
    "addi": "sum",
    "subf": "difference",
    "subi": "difference",
    "mulf": "product",
    "muli": "product",
    "divf": "quotient",
    "divi": "quotient",
    "remi": "remainder",
    "andi": "both",
    "ori": "either",
    "xori": "differ",
    "cmpi": "holds",
    "cmpf": "holds",
    "select": "chosen",
    "constant": "constant",
    "iota": "lanes",
    "offset": "pointers",
    "reshape": "reshaped",
    "broadcast": "lanes_of",
    "exti": "wide",
    "trunci": "narrow",
    "ftof": "converted",
    "itof": "converted",
    "ftoi": "converted",
    "mmaf": "product",
    "fma": "sum",
    "load_view_tko": "tile",
    "load_ptr_tko": "tile",
    "make_token": "start",
    "join_tokens": "joined",
    "assume": "bounded",
    "get_tile_block_id": "block",
    "get_num_tile_blocks": "blocks",
    "get_index_space_shape": "count",
    "permute": "permuted",
    "cat": "joined",
    "extract": "part",
    "bitcast": "bits",
    "maxf": "larger",
    "maxi": "larger",
    "minf": "smaller",
    "mini": "smaller",
    "exp": "power",
    "exp2": "power",
    "log": "logarithm",
    "log2": "logarithm",
    "sqrt": "root",
    "rsqrt": "inverse_root",
    "negf": "negated",
    "absf": "magnitude",
    "shli": "shifted",
    "shri": "shifted",
    "reduce": "reduced",
    "scan": "running",
    "for": "total",
    "loop": "total",
    "if": "chosen",
}
"""What a step is called that nothing names."""
CALLED = frozenset(
    {
        "assume_bounds",
        "atomic_rmw_tko",
        "get_index_space_shape",
        "get_num_tile_blocks",
        "get_partition_token",
        "get_tile_block_id",
        "int_to_ptr",
        "join_tokens",
        "load_ptr_tko",
        "load_view_tko",
        "make_partition_view",
        "make_tensor_view",
        "max_tile",
        "min_tile",
        "mulhii",
        "new_token_unordered",
        "pack",
        "pointer_to_tile",
        "ptr_to_int",
        "scalar_to_tile",
        "scan_sum",
        "shri",
        "store_ptr_tko",
        "tile_to_scalar",
    }
)
"""Functions of the crate, besides `CORE`, that a variable of the same name would hide."""


class Names:
    """Gives each name once."""

    def __init__(self, taken: Iterable[str] = (), hint: Hint | None = None) -> None:
        self._taken = set(taken) | KEYWORDS | CORE | CALLED
        self._count: dict[str, int] = {}
        self._hint = hint

    def fresh(self, wanted: str) -> str:
        name, number = wanted, self._count.get(wanted, 1)
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._count[wanted] = number
        self._taken.add(name)
        return name

    def wanted(self, op: Op, value: Value, expr: Expr) -> str:
        """What the value would best be called."""
        return (self._hint(op, value) if self._hint else None) or step(op, expr)

    def of(self, op: Op, value: Value, expr: Expr) -> str:
        return self.fresh(self.wanted(op, value, expr))

    def ascending(self, wanted: Sequence[str]) -> list[str]:
        """Names in alphabetical order, near to those wanted: cuTile 0.2.0 orders what a loop carries by name."""
        names = [self.fresh(one) for one in wanted]
        if names == sorted(names):
            return names
        return [
            self.fresh(f"{chr(ord('a') + number // 26)}{chr(ord('a') + number % 26)}_{one}")
            for number, one in enumerate(wanted)
        ]


def step(op: Op, expr: Expr) -> str:
    """`row_sum`, `x_wide`: by what the operation does to what it is done to."""
    what = STEPS.get(op.name, op.name)
    match expr:
        case Method(receiver=Word(text), name="reshape" | "broadcast") if text.isidentifier():
            return _shortened(text, "reshaped" if expr.name == "reshape" else "lanes")
        case Call("reduce_sum" | "reduce_max" | "reduce_min" | "reduce_prod", (Word(text), *_)) if text.isidentifier():
            return f"{text}_{expr.function.removeprefix('reduce_')}"
        case Call("exti" | "trunci" | "convert_tile" | "permute", (Word(text), *_)) if text.isidentifier():
            return _shortened(text, what)
    return what


def _shortened(text: str, what: str) -> str:
    """One ending is enough: what is a reshaped `x_reshaped` is one still."""
    for ending in ("_reshaped", "_lanes", "_wide", "_narrow", "_converted", "_permute"):
        text = text.removesuffix(ending)
    return f"{text}_{what}"
