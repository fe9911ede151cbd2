"""New tiles, and where the block stands in the grid."""

from __future__ import annotations

from tileport_skill.draft import rust
from tileport_skill.draft.body import constant_lets
from tileport_skill.draft.calls.site import Site, handles
from tileport_skill.draft.coerce import as_tile, converted
from tileport_skill.draft.expressions import dims_from, number
from tileport_skill.draft.rust import call, word
from tileport_skill.draft.values import Dims, Number, Tile, Untranslatable, Value


@handles("bid", "axis")
def bid(site: Site) -> Value:
    return Number(expr=word(f"get_tile_block_id().{site.integer('axis')}"), dtype="i32")


@handles("num_blocks", "axis")
def num_blocks(site: Site) -> Value:
    return Number(expr=word(f"get_num_tile_blocks().{site.integer('axis')}"), dtype="i32")


@handles("arange", "size", "dtype", "start", "step")
def arange(site: Site) -> Value:
    if site.optional("start") is not None or site.optional("step") is not None:
        raise Untranslatable("`ct.arange` with start or step")
    dims = dims_from(site.body, site.value("size"))
    return Tile(expr=call("iota", rust.shape(dims)), element=site.element, dims=dims, typed=False)


@handles("full", "shape", "fill_value", "dtype")
def full(site: Site) -> Value:
    return _full(site, site.value("fill_value"))


@handles("zeros", "shape", "dtype")
def zeros(site: Site) -> Value:
    return _full(site, number(0))


@handles("ones", "shape", "dtype")
def ones(site: Site) -> Value:
    return _full(site, number(1))


def _full(site: Site, value: Value) -> Tile:
    dims = dims_from(site.body, site.value("shape"))
    element = site.element
    if isinstance(value, Number) and isinstance(value.literal, (int, float)):
        return _constant(site, value.literal, element, dims)
    return as_tile(site.body, value, element, dims)


def _constant(site: Site, value: int | float, element: str, dims: Dims) -> Tile:
    """A tile of one number that is about to get a name of its own."""
    name = site.body.target or "constant"
    *before, last = constant_lets(site.body, name, value, Tile(expr=word(name), element=element, dims=dims))
    for statement in before:
        site.body.emit(statement)
    return Tile(expr=last.value, element=element, dims=dims, typed=False)


@handles("astype", "x", "dtype", "rounding_mode")
def astype(site: Site) -> Value:
    """A conversion to the type a tile has already leaves no trace in Tile IR, and none in Rust."""
    value = site.value("x")
    element = site.element_argument("dtype")
    if site.optional("rounding_mode") is not None:
        raise Untranslatable("`ct.astype` with a rounding mode")
    if isinstance(value, Number):
        from tileport_skill.draft.coerce import as_scalar

        return as_scalar(site.body, value, element)
    return converted(site.body, site.tile("x"), element)


@handles("bitcast", "x", "dtype")
def bitcast(site: Site) -> Value:
    tile = site.tile("x")
    element = site.element_argument("dtype")
    return Tile(expr=call("bitcast", tile.expr), element=element, dims=tile.dims, typed=False)
