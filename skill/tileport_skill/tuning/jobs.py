"""What fresh processes measure once an operator is searched, and what is made of it. Pure: documents in and out.

Every tuned call is measured by its class's choice, by its own winner if that is another, and by its best optional mode;
every held-out call by the choice of the class it falls into; and each without copies, where that is better on all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tileport_skill.tuning.candidates import Choice, choice_from, plain
from tileport_skill.tuning.classes import NEAR, Features, Point, ShapeClass, classes
from tileport_skill.tuning.halving import WORTH

CLASS, WINNER, OPTION, COPIES = "class", "winner", "option", "copies"
"""Why a call is measured by a choice."""
SEPARATOR = " | "
GIVEN = "given"
"""The feature that holds a call's flags."""


def jobs_of(document: Mapping[str, Any], searches: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One job for each different pair of a call and a choice; `why` names all its reasons."""
    found: dict[tuple[int, Choice], list[str]] = {}
    groups = proposed(document, searches)
    for call in document["calls"]:
        features = features_in(document, call)
        for group in groups:
            if group.holds(features):
                found.setdefault((call["number"], group.choice), []).append(CLASS)
    if not copies_of(searches):
        for call in document["calls"]:
            found.setdefault((call["number"], Choice(copies=False)), []).append(COPIES)
    for number, search in searches.items():
        if search["winner"] is not None:
            winner = choice_from(search["contenders"][search["winner"]]["choice"])
            found.setdefault((number, winner), []).append(WINNER)
        if (option := best_option(search)) is not None:
            found.setdefault((number, option), []).append(OPTION)
    return [
        {"row": row_name(document, number, choice), "call": number, "choice": plain(choice), "why": why}
        for (number, choice), why in found.items()
    ]


def proposed(document: Mapping[str, Any], searches: Mapping[int, Mapping[str, Any]]) -> tuple[ShapeClass, ...]:
    """Classes of tuned shapes, by what the search measured."""
    points = []
    copies = copies_of(searches)
    for call in document["calls"]:
        search = searches.get(call["number"])
        if call["held_out"] or search is None or search["problem"] is not None:
            continue
        scores = {
            choice_from(one["choice"]): one["score"]
            for one in search["contenders"]
            if one["score"] is not None and one["lost"] is None and one["choice"]["copies"] == copies
        }
        # A shape on which nothing is faster stays in: no other class may cover it.
        if max(scores.values(), default=0.0) <= WORTH:
            scores = {}
        points.append(Point(shape=call["id"], features=features_in(document, call), scores=scores))
    return classes(points)


def copies_of(searches: Mapping[int, Mapping[str, Any]]) -> bool:
    """Whether copies are made. Without them it must be as fast on every call, and faster on one: it is one wrapper."""
    best: list[tuple[float, float | None]] = []
    for search in searches.values():
        if search["problem"] is not None:
            continue
        by_copies: dict[bool, list[float]] = {True: [0.0], False: []}
        for one in search["contenders"]:
            if one["score"] is not None and one["lost"] is None:
                by_copies[one["choice"]["copies"]].append(one["score"])
        best.append((max(by_copies[True]), max(by_copies[False], default=None)))
    gains = [without - with_copies for with_copies, without in best if without is not None]
    return not (best and len(gains) == len(best) and min(gains) >= -NEAR and max(gains) > WORTH)


def best_option(search: Mapping[str, Any]) -> Choice | None:
    """The best of the ways that a caller could have asked for, tuned by the reference itself."""
    found = [
        (one["score"], choice_from(one["choice"]))
        for one in search["contenders"]
        if one["score"] is not None and one["choice"]["options"] and not one["choice"]["kernels"]
    ]
    usable = [(score, choice) for score, choice in found if choice.copies]
    return max(usable, key=lambda pair: pair[0])[1] if usable else None


def features_in(document: Mapping[str, Any], call: Mapping[str, Any]) -> Features:
    """What classes are told apart by: the arguments of the operator's function where options are chosen too, else
    those of the call's one kernel; of several kernels the first one's."""
    options = any(way["options"] for one in document["calls"] for way in one["ways"])
    kept = call["features"]["call"] if options else next(iter(call["features"]["kernels"].values()), [])
    # Flags that a caller gives may make it another kernel's call with the very same arrays.
    given = [f"{name}={value}" for name, value in sorted(call["arguments"].items()) if isinstance(value, (bool, str))]
    return {(GIVEN, None): ", ".join(given), **{(argument, part): value for argument, part, value in kept}}


def row_name(document: Mapping[str, Any], number: int, choice: Choice) -> str:
    return f"{document['calls'][number]['id']}{SEPARATOR}{choice.text}"
