"""The lines of a table that one class of shapes makes: one for each kernel chosen for, one for the options. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tileport_skill.tuning.classes import Features, ShapeClass, telling
from tileport_skill.tuning.table import Condition, Line, holds


def lines_of(group: ShapeClass, document: Mapping[str, Any], ratio: float, low: float, high: float) -> list[Line]:
    """Each line's rule is over what is seen where it is asked for: a kernel's arguments, or the function's."""
    found = []
    wanted: list[tuple[str, dict[str, Any], dict[str, int], dict[str, Any]]] = []
    if group.choice.options:
        wanted.append((f"{document['calls'][0]['function']}()", {}, {}, dict(group.choice.options)))
    for kernel, candidate in group.choice.kernels:
        wanted.append((kernel, dict(candidate.fields), dict(candidate.hints), {}))
    for of, fields, hints, options in wanted:
        where = _where(of, group.shapes, document)
        if where is not None:
            found.append(
                Line(
                    of=of,
                    where=where,
                    fields=fields,
                    hints=hints,
                    options=options,
                    ratio=ratio,
                    low=low,
                    high=high,
                    shapes=group.shapes,
                )
            )
    return found


def _where(of: str, shapes: Sequence[str], document: Mapping[str, Any]) -> tuple[Condition, ...] | None:
    """The box around a class's shapes; None if a shape of another class lies in it."""
    inside: list[Features] = []
    outside: list[Features] = []
    for call in document["calls"]:
        kept = call["features"]["call"] if of.endswith("()") else call["features"]["kernels"].get(of)
        # A caller who has given an option is not asked about at the function.
        if kept is None or (of.endswith("()") and not any(way["options"] for way in call["ways"])):
            continue
        features = {(argument, part): value for argument, part, value in kept}
        (inside if call["id"] in shapes else outside).append(features)
    # What looks the same to the wrapper gets the same.
    outside = [features for features in outside if features not in inside]
    if not inside:
        return None
    where: list[Condition] = []
    for argument, part in telling([*inside, *outside]):
        values = [features[argument, part] for features in inside if (argument, part) in features]
        if len(values) == len(inside) and all(type(value) is type(values[0]) for value in values):
            low, high = min(values), max(values)
            where.append((argument, part, low, high))
    return None if any(holds(where, features) for features in outside) else tuple(where)
