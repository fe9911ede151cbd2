"""Successive halving over paired measurements, as a state machine. Pure: what to measure out, what came of it in.

    SCREEN ─every contender, few blocks─▶ HALVE ─the better part, more blocks─▶ FINAL ─▶ DONE

A contender is a choice held against the reference's own in blocks of four calls; what counts of it is the median of the
log-ratios of all its blocks. One whose output differs, or whose process ended, is out at once, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from tileport_skill.timing.statistics import process_log_ratio


class Stage(Enum):
    SCREEN = "screen"
    HALVE = "halve"
    FINAL = "final"
    DONE = "done"


BLOCKS = {Stage.SCREEN: 2, Stage.HALVE: 4, Stage.FINAL: 8}
"""Blocks that a stage adds for each contender that is left."""
KEPT = {Stage.SCREEN: (1 / 4, 8), Stage.HALVE: (1 / 2, 4), Stage.FINAL: (0.0, 2)}
"""Which share goes on from a stage, and how many at least."""
NEXT = {Stage.SCREEN: Stage.HALVE, Stage.HALVE: Stage.FINAL, Stage.FINAL: Stage.DONE}
HOPELESS = math.log(0.5)
"""Half as fast after screening: out whatever the share."""
WORTH = math.log(1.01)
"""A gain below this is not worth a line in a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A contender is out: its output differs, it raised, or the process that ran it ended."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Blocks to measure of one contender, by its number."""

    contender: int
    blocks: int


Measured = tuple[float, ...]
"""ln(reference ÷ contender) of each undisturbed block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One call's search, between two measurements."""

    stage: Stage
    alive: tuple[int, ...]
    """Contenders of this stage, the best of the last one first."""
    ratios: tuple[tuple[int, Measured], ...] = ()
    """All blocks so far, by contender."""
    lost: tuple[tuple[int, str], ...] = ()

    def scores(self) -> dict[int, float]:
        """Log-ratios of all contenders ever measured and not lost; above 0 is faster than the reference."""
        out = dict(self.lost)
        return {number: process_log_ratio(found) for number, found in self.ratios if found and number not in out}

    @property
    def winner(self) -> int | None:
        """The best finalist, if it is worth it; None while the search goes on too."""
        scores = self.scores()
        if self.stage is not Stage.DONE or not self.alive:
            return None
        best = max(self.alive, key=lambda number: scores[number])
        return best if scores[best] > WORTH else None


def begin(contenders: int) -> Search:
    return Search(stage=Stage.SCREEN if contenders else Stage.DONE, alive=tuple(range(contenders)))


def asks(search: Search) -> tuple[Ask, ...]:
    """What to measure next; empty when the search is done."""
    if search.stage is Stage.DONE:
        return ()
    return tuple(Ask(contender=number, blocks=BLOCKS[search.stage]) for number in search.alive)


def told(search: Search, answers: Mapping[int, Measured | Lost]) -> Search:
    """The search after its stage was measured; a contender without an answer is lost."""
    if search.stage is Stage.DONE:
        raise ValueError("the search is done: it asked for nothing")
    ratios, lost = dict(search.ratios), dict(search.lost)
    for number in search.alive:
        answer = answers.get(number, Lost(reason="it was not measured"))
        if isinstance(answer, Lost):
            lost[number] = answer.reason
        elif not answer and number not in ratios:
            lost[number] = "every block of it was disturbed"
        else:
            ratios[number] = (*ratios.get(number, ()), *answer)
    found = replace(search, ratios=tuple(ratios.items()), lost=tuple(lost.items()))
    scores = found.scores()
    ranked = sorted((n for n in search.alive if n in scores), key=lambda number: -scores[number])
    share, least = KEPT[search.stage]
    hopeful = [number for number in ranked if scores[number] > HOPELESS] or ranked[:1]
    alive = tuple(hopeful[: max(least, math.ceil(share * len(ranked)))])
    return replace(found, stage=NEXT[search.stage] if alive else Stage.DONE, alive=alive)
