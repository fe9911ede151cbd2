"""One side of a comparison as records: its graph's number, its promises and its hints."""

from __future__ import annotations

from dataclasses import dataclass, field

from tileport_skill.tileir.facts import Fact
from tileport_skill.tileir.records import Op
from tileport_skill.tileir.strength import Strength

Path = tuple[int, ...]
"""Where an operation stands: one number for each region around it, outermost first."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What must be so, or the kernel has no meaning: an assumed fact, or that an operation is defined."""

    subject: int
    fact: Fact
    path: Path
    op: Op = field(compare=False)


@dataclass(slots=True)
class Graph:
    """One side of a comparison."""

    whole: int = -1
    """The number of the whole kernel."""
    promises: list[Promise] = field(default_factory=list)
    hints: list[tuple[int, str, Op]] = field(default_factory=list)
    """For each memory operation with hints: its number, the hints as spelled, the operation."""
    ops: dict[int, Op] = field(default_factory=dict)
    """For each number one operation that has it, to quote its line."""
    numbers: dict[Op, int] = field(default_factory=dict)
    """The number of every operation that counts."""
    strengths: dict[int, set[Strength]] = field(default_factory=dict)
    """In a loose graph: how strongly the operations of that number ask."""
