"""Sums and extremes along an axis."""

from __future__ import annotations

from tileport_skill.draft.calls.site import Handler, Site, handles
from tileport_skill.draft.expressions import reshaped
from tileport_skill.draft.rust import Method, call, word
from tileport_skill.draft.values import Tile, Untranslatable, Value


def _reduction(function: str) -> Handler:
    def handler(site: Site) -> Value:
        if site.known_flag("propagate_nan") or site.known_flag("flush_to_zero"):
            raise Untranslatable(f"`{function}` with other modes than usual")
        tile = site.tile("x")
        if site.optional("axis") is None and len(tile.dims) != 1:
            raise Untranslatable(f"`{function}` over all axes of a tile")
        axis = site.integer("axis", 0)
        axis += len(tile.dims) if axis < 0 else 0
        dims = tile.dims[:axis] + tile.dims[axis + 1 :]
        made = Tile(expr=call(function, tile.expr, word(f"{axis}i32")), element=site.element, dims=dims, typed=False)
        if not site.known_flag("keepdims"):
            return settled(site, made) if dims else made
        return reshaped(site.body, made, (*tile.dims[:axis], "1", *tile.dims[axis + 1 :]))

    return handler


def settled(site: Site, made: Tile) -> Tile:
    """cuTile Rust 0.2.0 forgets that a reduced tile's sizes are generics; naming its shape tells it again."""
    inner = site.body.named(made, "reduced")
    expr = Method(inner.expr, "reshape", (made.shape,))
    return Tile(expr=expr, element=made.element, dims=made.dims, typed=False)


for _name, _function in {"sum": "reduce_sum", "max": "reduce_max", "min": "reduce_min", "prod": "reduce_prod"}.items():
    handles(_name, "x", "axis", "keepdims", "rounding_mode", "flush_to_zero", "propagate_nan")(_reduction(_function))
