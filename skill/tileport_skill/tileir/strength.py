"""What one kernel may ask for more strongly than another and still do what that does: ordering, scope, exactness.

A stronger memory ordering or a wider scope allows fewer outcomes, each of which the weaker one allows too. A more
exact rounding stays within what a less exact one may give. So a port may be stronger than its reference; weaker, it
may do what the reference cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tileport_skill.tileir.records import Op

_ORDERING = {"weak": 0, "relaxed": 1, "acquire": 2, "release": 2, "acq_rel": 3}
_SCOPE = {"": 0, "tl_blk": 0, "device": 1, "sys": 2}
_EXACTNESS = {"approx": 0, "full": 1, "nearest_even": 2}
_DEFAULT = {"exp": "full", "tanh": "full"}
"""The rounding of operations whose default is not to the nearest."""
_ORDER_NAMES = ("memory_ordering_semantics", "memory_scope")


@dataclass(frozen=True, slots=True)
class Strength:
    """How strongly one operation asks."""

    kind: str
    """`memory ordering` or `rounding`."""
    asked: tuple[str, ...]
    """Ordering and scope, or the rounding mode."""

    def covers(self, other: Strength) -> bool:
        """Whether this is at least as strong."""
        if self.kind != other.kind:
            return False
        if self.kind == "rounding":
            return _EXACTNESS[self.asked[0]] >= _EXACTNESS[other.asked[0]]
        (mine, here), (theirs, there) = self.asked, other.asked
        incomparable = {mine, theirs} == {"acquire", "release"}
        return not incomparable and _ORDERING[mine] >= _ORDERING[theirs] and _SCOPE[here] >= _SCOPE[there]

    def __str__(self) -> str:
        return " ".join(filter(None, self.asked))


def strength_of(op: Op) -> Strength | None:
    """What `op` asks for, if it is something there is more and less of."""
    ordering = op.attributes.get("memory_ordering_semantics")
    if ordering in _ORDERING:
        scope = op.attributes.get("memory_scope", "")
        return Strength("memory ordering", (ordering, scope)) if scope in _SCOPE else None
    if op.name in ("divf", "sqrt", "exp", "tanh"):
        mode = op.attributes.get("rounding_mode", _DEFAULT.get(op.name, "nearest_even"))
        return Strength("rounding", (mode,)) if mode in _EXACTNESS else None
    return None


def without(op: Op) -> Mapping[str, str]:
    """The attributes of `op` but for those its strength is made of."""
    strength = strength_of(op)
    if strength is None:
        return op.attributes
    dropped = ("rounding_mode",) if strength.kind == "rounding" else _ORDER_NAMES
    return {name: value for name, value in op.attributes.items() if name not in dropped}
