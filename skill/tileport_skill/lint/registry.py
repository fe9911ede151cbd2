"""Every rule, and what became of the 49 rules of TileGym's own skill."""

from __future__ import annotations

from tileport_skill.lint.records import Rule
from tileport_skill.lint.rules import crossing, kernel, launcher, licence, reach, traps, wrapper

RULES: tuple[Rule, ...] = (
    *kernel.RULES,
    *traps.RULES,
    *launcher.RULES,
    *wrapper.RULES,
    *crossing.RULES,
    *reach.RULES,
    *licence.RULES,
)
DECIDABLE_FROM_TEXT = frozenset(
    {1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 25, 27, 31, 32, 33, 35, 36, 37, 39, 40, 43}
    | {45, 46, 47, 49}
)
"""Those of the 49 that syntax alone decides, wholly or in part."""

NO_LONGER_TRUE = {
    3: "`_` and names that begin with it compile as tokens",
    22: "an `if` with one arm carries a tile that it changes",
    25: "an `if` may have a tile as its value",
}
"""Rules that cuTile Rust 0.2.0 has no need of, by cargo and by the emitter; a test compiles what they forbid."""
BY_PROGRAM = {
    39: "`submit` holds the checkout's files against those that are the role's",
    49: "`check host-builder` writes the build's log itself",
}


def rule(name: str) -> Rule:
    return next(one for one in RULES if one.id == name)
