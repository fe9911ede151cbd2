"""An argument that the reference accepts and the port does not, where the port promises more about it."""

from __future__ import annotations

from tileport_skill.tileir.differences import Side, uncovered
from tileport_skill.tileir.facts import Fact, constant_has
from tileport_skill.tileir.implied import implied, sizes_of
from tileport_skill.tileir.numbering import Numbering
from tileport_skill.tileir.verdicts import Witness

_CANDIDATES = [*(2**n for n in range(13)), *(3 * 2**n for n in range(10)), 0, -1, -16, 2**31 - 16]


def promise_witness(a: Side, b: Side, numbering: Numbering) -> Witness | None:
    """Only for promises about entry arguments themselves, where a value is easily named."""
    sizes = sizes_of(numbering, a.graph.ops)
    for promise in uncovered(b, a, numbering, anywhere=False):
        key = numbering.keys[promise.subject]
        if key[0] != "argument" or not isinstance(key[1], int) or promise.fact.number is None:
            continue
        accepted = [other.fact for other in a.graph.promises if other.subject == promise.subject]
        for value in _CANDIDATES:
            if constant_has(value, promise.fact) or not all(constant_has(value, fact) for fact in accepted):
                continue
            if value < 0 and implied(numbering, promise.subject, Fact("at least", 0), sizes):
                continue
            name = a.entry.arguments[key[1]].name
            return Witness(
                kind="promise",
                inputs=f"{name} = {value}",
                where=name,
                a="accepts it",
                b=f"has no meaning for it: it takes for granted that {name} is {promise.fact}",
            )
    return None
