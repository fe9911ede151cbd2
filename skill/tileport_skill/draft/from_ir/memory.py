"""Tokens, pointers, views, loads and stores."""

from __future__ import annotations

import re

from tileport_skill.draft import rust
from tileport_skill.draft.from_ir.constants import scalar_constant
from tileport_skill.draft.from_ir.pointwise import Spelling
from tileport_skill.draft.from_ir.writer import Held, Writer
from tileport_skill.draft.rust import Call, Expr, Method, Unsafe, call, word
from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Op, Value
from tileport_skill.tileir.types import PartitionView, TensorView

ORDERINGS = {"weak": "Weak", "relaxed": "Relaxed", "acquire": "Acquire", "release": "Release", "acq_rel": "AcqRel"}
SCOPES = {"tl_blk": "TileBlock", "device": "Device", "sys": "System"}
PADDINGS = {
    None: "None",
    "zero": "Zero",
    "neg_zero": "NegZero",
    "nan": "Nan",
    "pos_inf": "PosInf",
    "neg_inf": "NegInf",
}
MODES = {"addf": "AddF", "add": "Add", "and": "And", "or": "Or", "xor": "Xor", "max": "Max", "min": "Min"}


def token(writer: Writer, op: Op) -> None:
    writer.let(op, call("new_token_unordered"))
    writer.root = writer.root or str(writer.of(op.result).flat)


def joined(writer: Writer, op: Op) -> None:
    tokens = Call("", tuple(map(writer.of, op.operands["tokens"])), "[]")
    writer.let(op, call("join_tokens", word(f"&{tokens.flat}")))


def assumed(writer: Writer, op: Op) -> None:
    """What an assumption says of a value. A divisor of an argument is the launcher's business."""
    value, predicate = op.operand("value"), op.attributes["predicate"]
    held = writer.held[value]
    bounds = re.fullmatch(r"bounded<(-?\d+|\?), (-?\d+|\?)>", predicate)
    divisor = re.fullmatch(r"div_by<(\d+)>", predicate)
    if divisor or held.expr == word(""):
        writer.held[op.result] = held
        return
    if bounds is None:
        raise Untranslatable(f"the assumption {predicate}")
    low, high = bounds.groups()
    if high == "?":
        function, values = "assume_bounds_lower", low
    elif low == "?":
        function, values = "assume_bounds_upper", high
    else:
        function, values = "assume_bounds", f"{low}, {high}"
    writer.let(op, Unsafe(call(f"{function}::<_, {values}>", held.expr)), unsigned=held.unsigned)


def moved(writer: Writer, op: Op) -> None:
    pointers, offset = writer.of(op.operand("ptr")), writer.of(op.operand("offset"))
    writer.let(op, Method(pointers, "offset_tile", (offset,)))


def loaded(writer: Writer, op: Op) -> None:
    value, ordered = op.results
    padding = op.optional("paddingValue")
    mask = op.optional("mask")
    element = writer.element(value)
    shape = writer.dims(value)
    said: Expr = word(f"None::<{element}>")
    function = "load_ptr_tko"
    if padding is not None and len(shape) > 1:
        if not writer.declare:
            raise Untranslatable(
                f"a padded load of rank {len(shape)}, for which cuTile Rust 0.2.0 has no word: --declare lets the "
                "kernel declare that operation itself"
            )
        function = "load_padded"
        writer.idioms.add(function)
        said = call("Some", writer.of(padding))
    elif padding is not None:
        said = call("Some", _padding_scalar(writer, padding))
    arguments = [
        writer.of(op.operand("source")),
        *_order(op, "None::<scope::{}>"),
        word("None") if mask is None else call("Some", writer.of(mask)),
        said,
        _optional_token(writer, op),
        word(f"Latency::<{latency(op)}>"),
    ]
    names = (writer.names.of(op, value, word("tile")), writer.names.fresh("loaded"))
    writer.emit(rust.Let(names, call(function, *arguments), f"({writer.type(value)}, Token)"))
    writer.held[value], writer.held[ordered] = Held(word(names[0])), Held(word(names[1]))


def _padding_scalar(writer: Writer, padding: Value) -> Expr:
    """The crate takes a scalar. cuTile makes a padding of one number, reshaped and broadcast."""
    source = writer.sources.get(padding)
    while source is not None and source.name in ("reshape", "broadcast"):
        padding = source.operand("source")
        source = writer.sources.get(padding)
    element = writer.element(padding)
    if writer.dims(padding):
        name = scalar_constant(writer, source) if source is not None and source.name == "constant" else None
        if name is None:
            raise Untranslatable("a load padded with more than one number")
        return _scalar_of(writer, word(name), element)
    held = writer.held[padding]
    return _scalar_of(writer, held.expr, element) if len(element) == 1 else writer.scalar(padding)


def _scalar_of(writer: Writer, tile: Expr, element: str) -> Expr:
    """A tile of rank 0 as a scalar. One of a generic type comes out of a reduction alone."""
    if len(element) == 1:
        one, reduced = (writer.names.fresh(name) for name in ("padding", "padding_reduced"))
        spread = Method(tile, "reshape", (rust.shape(("1",)),))
        writer.emit(rust.Let((one,), spread, f"Tile<{element}, {{ [1] }}>"))
        writer.emit(rust.Let((reduced,), call("reduce_max", one, "0i32"), f"Tile<{element}, {{ [] }}>"))
        tile = word(reduced)
    name = writer.names.fresh("padding_scalar")
    writer.emit(rust.Let((name,), call("tile_to_scalar", tile), element))
    return word(name)


def stored(writer: Writer, op: Op) -> None:
    mask = op.optional("mask")
    arguments = [
        writer.of(op.operand("destination")),
        writer.of(op.operand("value")),
        *_order(op, "None::<scope::{}>"),
        word("None") if mask is None else call("Some", writer.of(mask)),
        _optional_token(writer, op),
        word(f"Latency::<{latency(op)}>"),
    ]
    _bind_token(writer, op, call("store_ptr_tko", *arguments))


def updated(writer: Writer, op: Op) -> None:
    value, ordered = op.results
    mode = MODES.get(op.attributes["mode"])
    if mode is None:
        raise Untranslatable(f"an atomic {op.attributes['mode']}")
    mask = op.optional("mask")
    arguments = [
        writer.of(op.operand("pointers")),
        writer.of(op.operand("arg")),
        word(f"atomic::{mode}"),
        *_order(op, "scope::{}"),
        word("None") if mask is None else call("Some", writer.of(mask)),
        _optional_token(writer, op),
    ]
    names = (writer.names.of(op, value, word("old")), writer.names.fresh("updated"))
    writer.emit(rust.Let(names, call("atomic_rmw_tko", *arguments), f"({writer.type(value)}, Token)"))
    writer.held[value], writer.held[ordered] = Held(word(names[0])), Held(word(names[1]))


def _bind_token(writer: Writer, op: Op, expr: Expr) -> None:
    name = writer.names.fresh("stored" if writer.used(op.result) else "_stored")
    writer.emit(rust.Let((name,), expr, "Token"))
    writer.held[op.result] = Held(word(name))


def _order(op: Op, scope: str) -> tuple[Expr, Expr]:
    ordering = ORDERINGS[op.attributes.get("memory_ordering_semantics", "weak")]
    said = SCOPES[op.attributes.get("memory_scope", "tl_blk")]
    return word(f"ordering::{ordering}"), word(scope.format(said))


def _optional_token(writer: Writer, op: Op) -> Expr:
    token = op.optional("token")
    return word("None::<Token>") if token is None else call("Some", writer.of(token))


def latency(op: Op) -> int:
    """The hint, 0 if there is none. Raises for hints that the crate has no word for."""
    hints = op.attributes.get("optimization_hints", "")
    rest = re.sub(r"latency = \d+|allow_tma = (true|false)|default = |[<>{}, ]", "", hints)
    if rest:
        raise Untranslatable(f"the hints {hints}")
    found = re.search(r"latency = (\d+)", hints)
    return int(found[1]) if found else 0


def tensor_view(writer: Writer, op: Op) -> None:
    """A view of what is no plain array: of an address that the kernel computes."""
    if op.result in writer.views:  # a parameter of its own
        return
    type_ = op.result.type
    assert isinstance(type_, TensorView)
    parts = []
    for what, dims, operands in (
        ("shape", type_.shape, op.operands["dynamicShape"]),
        ("strides", type_.strides, op.operands["dynamicStrides"]),
    ):
        static = ", ".join("-1" if n is None else str(n) for n in dims)
        kind = "Shape" if what == "shape" else "Array"
        numbers, name = (writer.names.fresh(one) for one in (f"{what}_numbers", f"view_{what}"))
        scalars = ", ".join(writer.scalar(value).flat for value in operands)
        writer.emit(rust.Let((numbers,), word(f"&[{scalars}]"), "&[i32]"))
        literal = f"{kind}::<{{ [{static}] }}> {{ dims: {numbers} }}"
        writer.emit(rust.Let((name,), word(literal), f"{kind}<{{ [{static}] }}>"))
        parts.append(name)
    view = writer.names.fresh("view")
    made = call("make_tensor_view", writer.of(op.operand("base")), *parts, word(writer.root))
    writer.emit(rust.Let((view,), Unsafe(made)))  # a written type would lose the strides
    writer.views[op.result] = word(f"&{view}")


def partition_view(writer: Writer, op: Op) -> None:
    """Written where it is read or written: the crate chains the accesses of one partition."""
    writer.views[op.result] = writer.views[op.operand("tensor_view")]


def _partition(writer: Writer, view: Value, token: Expr, *, mutable: bool) -> str:
    type_ = view.type
    if not isinstance(type_, PartitionView):
        raise Untranslatable(f"a view of type {type_}")
    dims = ", ".join(writer.dims(view))
    padding = f"padding::{PADDINGS[type_.padding]}"
    identity = type_.dim_map == tuple(range(len(type_.dim_map)))
    element = writer.element(view)
    base = writer.views[view]
    name = writer.names.fresh(f"{base.flat.removeprefix('&')}_tiles")
    if mutable:
        if not identity:
            raise Untranslatable("a store through a permuted view")
        made: Expr = Unsafe(call("make_partition_view_mut", base, writer.shape(view), padding, token))
        writer.emit(rust.Let((name,), made, f"PartitionMut<{element}, {{ [{dims}] }}>", mutable=True))
        return name
    order: Expr = word("dim_map::Identity")
    if not identity:
        order = Call("const_array!", tuple(word(axis) for axis in type_.dim_map), "[]")
    made = call("make_partition_view", base, writer.shape(view), padding, order, token)
    writer.emit(rust.Let((name,), made, f"Partition<{element}, {{ [{dims}] }}>"))
    return name


def loaded_view(writer: Writer, op: Op) -> None:
    value, ordered = op.results
    view = op.operand("view")
    index = Call("", tuple(map(writer.scalar, op.operands["index"])), "[]")
    partition = _partition(writer, view, writer.token(op.optional("token")), mutable=False)
    arguments = [word(f"&{partition}"), index, *_order(op, "scope::{}"), _cycles(op), _tma(op)]
    writer.bind(op, value, call("load_view_tko", *arguments))
    if writer.used(ordered):
        name = writer.names.fresh("loaded")
        writer.emit(rust.Let((name,), call("get_partition_token", word(f"&{partition}")), "Token"))
        writer.held[ordered] = Held(word(name))


def stored_view(writer: Writer, op: Op) -> None:
    index = Call("", tuple(map(writer.scalar, op.operands["index"])), "[]")
    partition = _partition(writer, op.operand("view"), writer.token(op.optional("token")), mutable=True)
    tile = writer.of(op.operand("tile"))
    arguments = [word(f"&mut {partition}"), tile, index, *_order(op, "scope::{}"), _cycles(op), _tma(op)]
    writer.emit(rust.Run(Unsafe(call("store_view_tko_mut", *arguments))))
    if writer.used(op.result):  # what it returns is no token in cuTile 0.2.0
        name = writer.names.fresh("stored")
        writer.emit(rust.Let((name,), call("get_partition_token_mut", word(f"&{partition}")), "Token"))
        writer.held[op.result] = Held(word(name))


def _cycles(op: Op) -> Expr:
    return word(f"Some({latency(op)}i32)" if latency(op) else "None")


def _tma(op: Op) -> Expr:
    disabled = "allow_tma = false" in op.attributes.get("optimization_hints", "")
    return word(f"tma::{'Disabled' if disabled else 'Enabled'}")


def counted(writer: Writer, op: Op) -> None:
    """How many tiles a partition has along each axis."""
    partition = _partition(writer, op.operand("src"), word(writer.root), mutable=False)
    name = writer.names.fresh("tile_counts")
    shape = call("get_index_space_shape", word(f"&{partition}"))
    writer.emit(rust.Let((name,), shape, f"[i32; {len(op.results)}]"))
    for axis, result in enumerate(op.results):
        if writer.used(result):
            scalar = writer.names.fresh("tile_count")
            writer.emit(rust.Let((scalar,), word(f"{name}[{axis}]"), "i32"))
            writer.from_scalar(op, result, word(scalar))


def block(writer: Writer, op: Op) -> None:
    """The block's number, and how many blocks there are."""
    stem = "block" if op.name == "get_tile_block_id" else "blocks"
    for axis, result in enumerate(op.results):
        if writer.used(result):
            scalar = writer.names.fresh(f"{stem}_{'xyz'[axis]}")
            writer.emit(rust.Let((scalar,), word(f"{op.name}().{axis}"), "i32"))
            writer.from_scalar(op, result, word(scalar))


SPELLINGS: dict[str, Spelling] = {
    "make_token": token,
    "join_tokens": joined,
    "assume": assumed,
    "offset": moved,
    "load_ptr_tko": loaded,
    "store_ptr_tko": stored,
    "atomic_rmw_tko": updated,
    "make_tensor_view": tensor_view,
    "make_partition_view": partition_view,
    "load_view_tko": loaded_view,
    "store_view_tko": stored_view,
    "get_index_space_shape": counted,
    "get_tile_block_id": block,
    "get_num_tile_blocks": block,
}
