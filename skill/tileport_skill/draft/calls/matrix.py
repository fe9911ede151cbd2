"""Matrix multiplication."""

from __future__ import annotations

from tileport_skill.draft.calls.site import Site, handles
from tileport_skill.draft.rust import Call
from tileport_skill.draft.values import Tile, Untranslatable, Value


@handles("mma", "x", "y", "acc", "use_fast_acc")
def mma(site: Site) -> Value:
    if site.known_flag("use_fast_acc"):
        raise Untranslatable("`ct.mma` with fast accumulation, which cuTile Rust 0.2.0 cannot say")
    left, right, sum_ = site.tile("x"), site.tile("y"), site.tile("acc")
    if sum_.element not in ("f32", "f16", "f64"):
        raise Untranslatable(f"`ct.mma` that accumulates {sum_.element}")
    return Tile(expr=Call("mmaf", (left.expr, right.expr, sum_.expr)), element=sum_.element, dims=sum_.dims)
