"""Shapes grouped into classes by what the choice depends on, with a rule that a wrapper can evaluate. Pure.

A rule is a box: for each number of a call's arguments the range that its class was tuned on, for every type and flag
its one value. Inside lies nothing that another class was tuned on. A shape outside of every box is unknown.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.tuning.candidates import Choice

NEAR = math.log(1.02)
"""A class's choice may be this much slower on a shape than that shape's own best."""

Path = tuple[int | str, int | str | None]
"""An argument by position or name, and what of it: an axis, `dtype`, `len`, or None for its value."""
Features = Mapping[Path, int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One condition of a rule: inclusive, and equal for what is no number."""

    path: Path
    low: int | str
    high: int | str

    def holds(self, features: Features) -> bool:
        value = features.get(self.path)
        if type(value) is not type(self.low):
            return False
        return self.low <= value <= self.high  # type: ignore[operator]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One tuned shape: its features, and how each choice did on it."""

    shape: str
    features: Features
    scores: Mapping[Choice, float]
    """Log-ratios against the reference; a choice that failed here is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeClass:
    """Shapes that share a choice."""

    rule: tuple[Bound, ...]
    choice: Choice
    shapes: tuple[str, ...]

    def holds(self, features: Features) -> bool:
        return all(bound.holds(features) for bound in self.rule)


def classes(points: Sequence[Point]) -> tuple[ShapeClass, ...]:
    """Neighbours merged as long as one choice is near each one's best; shapes that the reference does best on are
    left out, and no box may hold one.
    """
    telling = _telling(points)
    groups = [[point] for point in points if _best([point]) is not None]
    merged = True
    while merged:
        merged = False
        pairs = sorted(itertools.combinations(groups, 2), key=lambda pair: _apart(pair[0] + pair[1]))
        for one, other in pairs:
            if _may_share(one + other, points, telling):
                groups = [group for group in groups if group is not one and group is not other] + [one + other]
                merged = True
                break
    return tuple(_class(group, telling) for group in groups)


def _may_share(group: list[Point], points: Sequence[Point], telling: Sequence[Path]) -> bool:
    if any(_flags(point) != _flags(group[0]) for point in group) or _best(group) is None:
        return False
    rule = _rule(group, telling)
    shapes = {point.shape for point in group}
    return not any(all(b.holds(p.features) for b in rule) for p in points if p.shape not in shapes)


def _best(group: Sequence[Point]) -> Choice | None:
    """The choice with the best mean that is near the best of every shape, and faster than the reference on each."""
    common = set.intersection(*(set(point.scores) for point in group)) if group else set()
    fit = [
        choice
        for choice in common
        if all(p.scores[choice] > 0 and p.scores[choice] >= max(p.scores.values()) - NEAR for p in group)
    ]
    return max(fit, key=lambda one: (sum(p.scores[one] for p in group), one.text), default=None)


def _class(group: list[Point], telling: Sequence[Path]) -> ShapeClass:
    choice = _best(group)
    assert choice is not None
    return ShapeClass(rule=_rule(group, telling), choice=choice, shapes=tuple(sorted(p.shape for p in group)))


def _rule(group: Sequence[Point], telling: Sequence[Path]) -> tuple[Bound, ...]:
    return tuple(
        Bound(
            path=path,
            low=min(point.features[path] for point in group),
            high=max(point.features[path] for point in group),
        )
        for path in telling
        if all(path in point.features for point in group)
    )


def _telling(points: Sequence[Point]) -> list[Path]:
    """The features without those that vary and always repeat an earlier one."""
    return telling([point.features for point in points])


def telling(features: Sequence[Features]) -> list[Path]:
    """The paths among `features` that a rule has to name."""
    found: dict[object, Path] = {}
    for path in dict.fromkeys(path for one in features for path in one):
        values = tuple(one.get(path) for one in features)
        found.setdefault(values if len(set(values)) > 1 else path, path)
    return list(found.values())


def _flags(point: Point) -> frozenset[tuple[Path, int | str]]:
    """What two shapes of one class have alike: types, flags, and which arguments there are."""
    return frozenset((path, value if isinstance(value, str) else 0) for path, value in point.features.items())


def _apart(group: Sequence[Point]) -> float:
    """How far a group's numbers spread, in doublings: the nearest are merged first."""
    found = 0.0
    for path in group[0].features:
        numbers = [v for p in group if isinstance(v := p.features.get(path), int) and v > 0]
        if numbers:
            found += math.log2(max(numbers) / min(numbers))
    return found
