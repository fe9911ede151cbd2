"""The same elements in another shape or order."""

from __future__ import annotations

from tileport_skill.draft.calls.site import Site, handles
from tileport_skill.draft.coerce import spread
from tileport_skill.draft.expressions import dims_from, reshaped
from tileport_skill.draft.rust import Call, call, word
from tileport_skill.draft.values import Dims, Items, Number, Tile, Untranslatable, Value


@handles("reshape", "x", "shape")
def reshape(site: Site) -> Value:
    return reshaped(site.body, site.tile("x"), dims_from(site.body, site.value("shape")))


@handles("broadcast_to", "x", "shape")
def broadcast_to(site: Site) -> Value:
    return spread(site.body, site.tile("x"), dims_from(site.body, site.value("shape")))


@handles("expand_dims", "x", "axis")
def expand_dims(site: Site) -> Value:
    tile = site.tile("x")
    axis = site.integer("axis")
    axis += len(tile.dims) + 1 if axis < 0 else 0
    return reshaped(site.body, tile, (*tile.dims[:axis], "1", *tile.dims[axis:]))


@handles("permute", "x", "axes")
def permute(site: Site) -> Value:
    axes = site.value("axes")
    if not isinstance(axes, Items):
        raise Untranslatable("`ct.permute` with axes that are no tuple")
    return _permuted(site.tile("x"), tuple(map(_axis, axes.items)))


@handles("transpose", "x", "axis0", "axis1")
def transpose(site: Site) -> Value:
    tile = site.tile("x")
    rank = len(tile.dims)
    if site.optional("axis0") is None and rank != 2:
        raise Untranslatable("`ct.transpose` without axes of a tile that is not two-dimensional")
    first, second = site.integer("axis0", 0) % rank, site.integer("axis1", 1) % rank
    order = list(range(rank))
    order[first], order[second] = order[second], order[first]
    return _permuted(tile, tuple(order))


def _axis(value: Value) -> int:
    if isinstance(value, Number) and isinstance(value.literal, int):
        return value.literal
    raise Untranslatable("an axis that is not one number")


def _permuted(tile: Tile, order: tuple[int, ...]) -> Tile:
    dims: Dims = tuple(tile.dims[axis] for axis in order)
    array = Call("const_array!", tuple(map(word, order)), "[]")
    return Tile(expr=call("permute", tile.expr, array), element=tile.element, dims=dims, typed=False)


@handles("cat", "tiles", "axis")
def cat(site: Site) -> Value:
    raise Untranslatable("`ct.cat`, whose result has a size that Rust's types cannot say")
