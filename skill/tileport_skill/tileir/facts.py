"""What a kernel promises the compiler about its values (`assume`), as facts that can be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DIV_BY = re.compile(r"div_by<(\d+)>")
_BOUNDED = re.compile(r"bounded<(\?|-?\d+), (\?|-?\d+)>")


@dataclass(frozen=True, slots=True)
class Fact:
    """`kind` is `multiple of`, `at least` or `at most` with a number, or another predicate as spelled."""

    kind: str
    number: int | None = None

    def __str__(self) -> str:
        return self.kind if self.number is None else f"{self.kind} {self.number}"

    def implies(self, other: Fact) -> bool:
        """Whether a value with this fact also has `other`."""
        if self.kind != other.kind:
            return False
        if self.number is None or other.number is None:
            return self.number == other.number
        if self.kind == "multiple of":
            return self.number % other.number == 0
        if self.kind == "at least":
            return self.number >= other.number
        return self.number <= other.number


def facts_of(predicate: str) -> tuple[Fact, ...]:
    """The facts an `assume` predicate states; none for one that always holds."""
    if found := _DIV_BY.fullmatch(predicate):
        return (Fact("multiple of", int(found[1])),) if int(found[1]) > 1 else ()
    if found := _BOUNDED.fullmatch(predicate):
        facts = []
        if found[1] != "?":
            facts.append(Fact("at least", int(found[1])))
        if found[2] != "?":
            facts.append(Fact("at most", int(found[2])))
        return tuple(facts)
    return (Fact(predicate),)


def constant_has(value: int, fact: Fact) -> bool:
    """Whether the number `value` has `fact`, so that nothing is promised by saying so."""
    if fact.number is None:
        return False
    if fact.kind == "multiple of":
        return value % fact.number == 0
    return value >= fact.number if fact.kind == "at least" else value <= fact.number
