"""The structure of a pure operation: what must be equal for two of them to compute the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tileport_skill.tileir.elements import canonical
from tileport_skill.tileir.numbering import Key, Numbering
from tileport_skill.tileir.records import Op, Value
from tileport_skill.tileir.types import (
    GatherScatterView,
    PartitionView,
    StridedView,
    TensorView,
    Tile,
    Token,
)

COMMUTATIVE = frozenset(
    ["addi", "muli", "andi", "ori", "xori", "maxi", "mini", "mulhii", "addf", "mulf", "maxf", "minf"]
)
"""For the floating ones only the payload of a NaN depends on the order, and that is unspecified anyway."""


def pure_key(
    op: Op, attributes: Mapping[str, str], numbering: Numbering, use: Callable[[Value], int], inner: tuple[int, ...]
) -> Key:
    """`use` gives the number of an operand; `inner` are the numbers of the operation's regions."""
    if op.name == "constant":
        type_, text = op.result.type, op.attributes["value"].partition(": ")[2]
        return ("constant", canonical(text, str(type_.element)) if isinstance(type_, Tile) else text, type_)
    if op.name == "make_tensor_view":
        return _tensor(op, numbering, use)
    if isinstance(op.results[0].type, PartitionView | StridedView | GatherScatterView):
        return ("view", *_shape_of_view(op.result.type), use(op.operand("tensor_view")))
    operands = [use(value) for value in op.all_operands()]
    if op.name in COMMUTATIVE:
        operands.sort()
    types = tuple(result.type for result in op.results)
    return (op.name, tuple(sorted(attributes.items())), types, *operands, *inner)


def padding_read(op: Op) -> str | None:
    """What a load through a view reads outside the tensor; None for operations that read no padding."""
    view = op.optional("view")
    if op.name != "load_view_tko" or view is None or isinstance(view.type, Tile | Token | TensorView):
        return None
    return view.type.padding or "none"


def whole_number(key: Key) -> int | None:
    """The value of an integer constant, if `key` is one whose elements are all the same."""
    if key[0] == "constant" and isinstance(key[1], str) and key[1].lstrip("-").isdigit():
        return int(key[1])
    return None


def _tensor(op: Op, numbering: Numbering, use: Callable[[Value], int]) -> Key:
    """Dimensions known from the type and those given as constants are the same thing."""
    type_ = op.result.type
    if not isinstance(type_, TensorView):
        raise TypeError(f"line {op.line}: make_tensor_view makes a {type_}")

    def dimension(known: int | None, given: Iterator[Value]) -> object:
        if known is not None:
            return ("size", known)
        number = use(next(given))
        value = whole_number(numbering.keys[number])
        return number if value is None else ("size", value)

    shape, strides = iter(op.operands["dynamicShape"]), iter(op.operands["dynamicStrides"])
    return (
        "tensor",
        type_.element,
        use(op.operand("base")),
        tuple(dimension(n, shape) for n in type_.shape),
        tuple(dimension(n, strides) for n in type_.strides),
    )


def _shape_of_view(type_: object) -> Key:
    """All of a view's type but its padding, which only loads read, and its tensor, which is an operand."""
    if isinstance(type_, PartitionView):
        return ("partition", type_.tile, type_.dim_map)
    if isinstance(type_, StridedView):
        return ("strided", type_.tile, type_.traversal, type_.dim_map)
    if isinstance(type_, GatherScatterView):
        return ("gather", type_.tile, type_.sparse_dim)
    raise TypeError(f"not a view: {type_}")
