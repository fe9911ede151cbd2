"""Every rule, and what became of the 49 rules of TileGym's own skill."""

from __future__ import annotations

from tileport_skill.lint.records import Rule
from tileport_skill.lint.rules import crossing, kernel, launcher, reach, traps, wrapper

RULES: tuple[Rule, ...] = (
    *kernel.RULES,
    *traps.RULES,
    *launcher.RULES,
    *wrapper.RULES,
    *crossing.RULES,
    *reach.RULES,
)
DECIDABLE_FROM_TEXT = frozenset(
    {1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 25, 27, 31, 32, 33, 35, 36, 37, 39, 40, 43}
    | {45, 46, 47, 49}
)
"""Those of the 49 that syntax alone decides, wholly or in part."""


def rule(name: str) -> Rule:
    return next(one for one in RULES if one.id == name)
