"""Reads and writes of global memory: tiles of an array through views, and elements through pointers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from tileport_skill.draft import rust
from tileport_skill.draft.body import Body
from tileport_skill.draft.calls.site import Site, handles
from tileport_skill.draft.coerce import as_scalar, as_tile, broadcast_dims, dims_of, plain_product, spread
from tileport_skill.draft.expressions import dims_from
from tileport_skill.draft.gathers import access_name
from tileport_skill.draft.idioms import all_idioms, is_idiom, with_latency
from tileport_skill.draft.rust import Block, Call, Expr, If, Method, Run, Unsafe, call, word
from tileport_skill.draft.tokens import before_write, note_read, note_write, of_read
from tileport_skill.draft.values import Array, Dims, Items, Number, Product, Symbol, Tile, Untranslatable, Value
from tileport_skill.draft.viewed import passed, receiver

PADDING = {
    "PaddingMode.UNDETERMINED": "padding::None",
    "PaddingMode.ZERO": "padding::Zero",
    "PaddingMode.NEG_ZERO": "padding::NegZero",
    "PaddingMode.NAN": "padding::Nan",
    "PaddingMode.POS_INF": "padding::PosInf",
    "PaddingMode.NEG_INF": "padding::NegInf",
}
ZERO = "PaddingMode.ZERO"
SHORT = {("lanes",): "", ("scalar", "lanes"): "_row", ("scalar",): "_one"}
"""How the names of the commonest accesses end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Access:
    """What a read and a write through a view have in common."""

    array: Array
    dims: Dims
    index: Call
    latency: str | None
    tma: str
    order: tuple[int, ...] | None

    @property
    def exact_index(self) -> Call:
        """The index with its literals' type written out, which only methods do without."""
        return Call("", tuple(word(f"{p.flat}i32") if p.flat.isdigit() else p for p in self.index.arguments), "[]")

    @property
    def plain(self) -> bool:
        return self.latency is None and self.tma == "tma::Enabled"


def _access(site: Site, dims: Dims) -> _Access:
    array = site.array("array")
    index = site.value("index")
    items = index.items if isinstance(index, Items) else (index,)
    parts = tuple(as_scalar(site.body, item, "i32").expr for item in items)
    if site.symbol("memory_order", "MemoryOrder.WEAK") != "MemoryOrder.WEAK" or not site.known_flag(
        "check_bounds", True
    ):
        raise Untranslatable(f"`{ast.unparse(site.node)[:60]}` with an unusual memory order or unchecked bounds")
    return _Access(
        array=array,
        dims=dims,
        index=Call("", parts, "[]"),
        latency=_latency(site),
        tma="tma::Enabled" if site.optional("allow_tma") is None or site.known_flag("allow_tma") else "tma::Disabled",
        order=_order(site),
    )


def _latency(site: Site) -> str | None:
    value = site.optional("latency")
    if value is None:
        return None
    if isinstance(value, Number) and value.fixed:
        return value.expr.flat
    raise Untranslatable(f"the latency of `{ast.unparse(site.node)[:60]}`")


def _order(site: Site) -> tuple[int, ...] | None:
    value = site.optional("order")
    if value is None or value == Symbol("'C'"):
        return None
    if isinstance(value, Items):
        axes = tuple(item.literal for item in value.items if isinstance(item, Number) and isinstance(item.literal, int))
        if len(axes) == len(value.items):
            return None if axes == tuple(range(len(axes))) else axes
    raise Untranslatable(f"the order of `{ast.unparse(site.node)[:60]}`")


@handles(
    *("load", "array", "index", "shape", "order", "padding_mode", "check_bounds"),
    *("latency", "allow_tma", "memory_order", "memory_scope"),
)
def load(site: Site) -> Value:
    dims = dims_from(site.body, site.value("shape"))
    access = _access(site, dims)
    array, body = access.array, site.body
    order = of_read(body, array)
    padding = site.symbol("padding_mode", "PaddingMode.UNDETERMINED")
    view = _read_view(body, access, padding, order.write if order else None)
    if access.plain and order is None and isinstance(view, Method):
        return Tile(expr=Method(view, "load", (access.index,)), element=array.element, dims=dims)
    name = body.free(f"{body.target or array.name}_view")
    body.emit(rust.Let((name,), view, f"Partition<{array.element}, {{ [{', '.join(dims)}] }}>"))
    made: Expr = Method(word(name), "load", (access.index,))
    if not access.plain or order is not None:
        modes = ("ordering::Weak", "scope::TileBlock", _option(access.latency), access.tma)
        made = Call("load_view_tko", (word(f"&{name}"), access.exact_index, *map(word, modes)))
    tile = Tile(expr=made, element=array.element, dims=dims, typed=access.plain and order is None)
    if order is not None:
        tile = body.step(tile, f"{array.name}_tile")
        note_read(order, name)
    return tile


def _read_view(body: Body, access: _Access, padding: str, after: Expr | None) -> Expr:
    tensor, argument = receiver(body, access.array), passed(body, access.array)
    if padding == ZERO and after is None:
        if access.order is None:
            return Method(tensor, "partition", (rust.shape(access.dims),))
        return Method(tensor, "partition_permuted", (rust.shape(access.dims), _axes(access.order)))
    order = word("dim_map::Identity") if access.order is None else _axes(access.order)
    token = after or call("get_tensor_token", argument)
    return call("make_partition_view", argument, rust.shape(access.dims), word(PADDING[padding]), order, token)


def _axes(order: tuple[int, ...]) -> Call:
    return Call("const_array!", tuple(map(word, order)), "[]")


def _option(latency: str | None) -> str:
    return "None" if latency is None else f"Some({latency})"


@handles(
    *("store", "array", "index", "tile", "order", "check_bounds"),
    *("latency", "allow_tma", "memory_order", "memory_scope"),
)
def store(site: Site) -> Value:
    array = site.array("array")
    value = site.value("tile")
    dims = dims_of(value)
    if isinstance(value, Number) or not dims:
        raise Untranslatable("`ct.store` of one number")
    access = _access(site, dims)
    if access.order is not None:
        raise Untranslatable("`ct.store` with an order, which cuTile Rust 0.2.0 cannot say")
    body = site.body
    tile = body.named(as_tile(body, value, array.element, dims), f"{array.name}_tile")
    after = before_write(body, array)
    view: Expr = Method(receiver(body, array), "partition_full_mut", (rust.shape(dims),))
    if access.plain and array.name not in body.orders:
        body.emit(Run(Unsafe(Method(view, "store", (tile.expr, access.index)))))
        return Symbol("None")
    if after is not None:
        view = call("make_partition_view_mut", passed(body, array), rust.shape(dims), word("padding::None"), after)
    name = f"{array.name}_view"  # the next view of the array may hide this one, once it has its token
    body.taken.add(name)
    type_ = f"PartitionMut<{array.element}, {{ [{', '.join(dims)}] }}>"
    body.emit(rust.Let((name,), Unsafe(view), type_, mutable=True))
    written: Expr = Method(word(name), "store", (tile.expr, access.index))
    if not access.plain:
        modes = ("ordering::Weak", "scope::TileBlock", _option(access.latency), access.tma)
        written = Call("store_view_tko_mut", (word(f"&mut {name}"), tile.expr, access.exact_index, *map(word, modes)))
    body.emit(Run(Unsafe(written)))
    if array.name in body.orders:
        note_write(body, array, call("get_partition_token_mut", word(f"&{name}")))
    return Symbol("None")


@handles("num_tiles", "array", "axis", "shape", "order")
def num_tiles(site: Site) -> Value:
    array, dims = site.array("array"), dims_from(site.body, site.value("shape"))
    if _order(site) is not None:
        raise Untranslatable("`ct.num_tiles` with an order")
    view = Method(receiver(site.body, array), "partition", (rust.shape(dims),))
    name = site.body.free(f"{array.name}_tiles")
    site.body.emit(rust.Let((name,), view))
    return Number(expr=call("num_tiles", word(f"&{name}"), word(site.integer("axis"))), dtype="i32")


# -- elements -------------------------------------------------------------------------------------------------


@handles("gather", "array", "indices", "mask", "padding_value", "check_bounds", "latency")
def gather(site: Site) -> Value:
    array = site.array("array")
    moved = _elements(site, array)
    padding = _padding(site)

    def read(checked: bool) -> Expr:
        return Unsafe(moved.call(site, "gather", padding if checked else "", checked))

    expr = _by_flag(site.flag("check_bounds", True), read)
    return Tile(expr=expr, element=array.element, dims=moved.dims, typed=not isinstance(expr, If))


def _by_flag(check: Number | bool, make: Callable[[bool], Expr]) -> Expr:
    """The checked or the unchecked way, or a choice between them."""
    if isinstance(check, bool):
        return make(check)
    return If(check.expr, Block((), make(True)), Block((), make(False)))


def _padding(site: Site) -> str:
    """The end of the idiom's name: which number lanes outside the array read."""
    value = site.optional("padding_value")
    if value is None or (isinstance(value, Number) and value.literal == 0):
        return ""
    if isinstance(value, Number) and value.literal == float("-inf"):
        return "_or_minus_infinity"
    raise Untranslatable(f"the padding of `{ast.unparse(site.node)[:60]}`")


@handles("scatter", "array", "indices", "value", "mask", "check_bounds", "latency")
def scatter(site: Site) -> Value:
    array = site.array("array")
    moved = _elements(site, array)
    value = site.body.named(as_tile(site.body, site.value("value"), array.element, moved.dims), f"{array.name}_tile")

    def write(checked: bool) -> Expr:
        return Unsafe(moved.call(site, "scatter", "", checked, value.expr))

    check = site.flag("check_bounds", True)
    after = before_write(site.body, array)
    if after is not None:
        if check is not True:
            raise Untranslatable(f"`{ast.unparse(site.node)[:60]}`, ordered and unchecked")
        note_write(site.body, array, Unsafe(moved.call(site, "scatter", "", True, value.expr, after)))
        return Symbol("None")
    if isinstance(check, bool):
        site.body.emit(Run(write(check)))
    else:
        arms = [Block((Run(write(checked)),)) for checked in (True, False)]
        site.body.emit(Run(If(check.expr, arms[0], arms[1])))
    return Symbol("None")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Elements:
    """Which elements of which array a gather or scatter moves."""

    array: Array
    kinds: tuple[str, ...]
    """For each axis whether its index is a `scalar` or `lanes`."""
    indices: tuple[Expr, ...]
    dims: Dims
    latency: str | None
    mask: Expr | None

    def call(self, site: Site, operation: str, padding: str, checked: bool, *more: Expr) -> Call:
        after = "_after" if operation == "scatter" and len(more) > 1 else ""
        plain = f"{operation}{SHORT.get(self.kinds, '?')}{padding if checked else '_unchecked'}{after}"
        name = plain
        masked, strided = self.mask is not None, not self.array.dense
        if masked or strided or len(self.dims) > 1 or plain not in all_idioms():
            how = {"checked": checked, "masked": masked, "after": bool(after), "strided": strided}
            name = access_name(operation, self.kinds, padding, **how)
        if not is_idiom(name) or (after and not checked):
            raise Untranslatable(f"`{ast.unparse(site.node)[:60]}`, for which there is no translation yet")
        if len(self.dims) > 1:
            if operation == "gather" and (checked or self.mask is not None) and not site.body.shared.declare:
                raise Untranslatable(f"`{ast.unparse(site.node)[:60]}` of several axes; with --declare it can be said")
            name = f"{name}_{len(self.dims)}d"
        more = (
            (more[0], *([self.mask] if self.mask else []), *more[1:]) if more else ((self.mask,) if self.mask else ())
        )
        sizes = self.array.sizes if checked else ()
        known = (self.array.name, *sizes, *self.array.needed_strides)
        name = site.body.idiom(with_latency(name, self.latency))
        return Call(name, (*map(word, known), *self.indices, *more))


def _elements(site: Site, array: Array) -> _Elements:
    indices = site.value("indices")
    items = indices.items if isinstance(indices, Items) else (indices,)
    dims: Dims = ()
    for item in items:
        dims = broadcast_dims(dims, dims_of(item))
    kinds = tuple("scalar" if isinstance(item, Number) or not dims_of(item) else "lanes" for item in items)
    if len(items) != array.rank:
        raise Untranslatable(f"`{ast.unparse(site.node)[:60]}` with indices of these shapes")
    parts = tuple(_index(site, item, dims) for item in items)
    latency = None if site.optional("latency") is None else str(site.integer("latency"))
    mask = site.optional("mask")
    selected = None if mask is None else site.body.named(as_tile(site.body, mask, "bool", dims), "selected").expr
    return _Elements(array=array, kinds=kinds, indices=parts, dims=dims, latency=latency, mask=selected)


def _index(site: Site, item: Value, dims: Dims) -> Expr:
    if isinstance(item, Number) or (isinstance(item, Tile) and not item.dims):
        return as_scalar(site.body, item, "i32").expr
    if isinstance(item, Product):
        item = plain_product(site.body, item)
    if isinstance(item, Tile) and item.element == "i32":
        return site.body.named(spread(site.body, item, dims), "index").expr
    raise Untranslatable("an index that is not of type int32")
