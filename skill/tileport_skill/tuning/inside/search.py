"""A process that searches calls of one operator: each contender held against the reference's own choice, in rounds.

`python -m tileport_skill.tuning.inside.search FOLDER SECONDS OPERATOR`. Ends with 0 when every call is searched; broken
off, it is started again and goes on with the next call. A contender whose process ended is out.
"""

from __future__ import annotations

import secrets
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from tileport_skill.timing.inside.cupti import TraceError
from tileport_skill.timing.raw import read_json, write_json
from tileport_skill.timing.samples import is_undisturbed
from tileport_skill.timing.statistics import block_log_ratio
from tileport_skill.tuning.candidates import choice_from
from tileport_skill.tuning.halving import Ask, Lost, Measured, Search, asks, begin, told
from tileport_skill.tuning.inside.bench import Bench, Held, SideProblem

MOST_TRIES = 12
"""Processes that one call may end before it is given up."""
LEAST_UNDISTURBED = 0.8
"""Of the blocks of a search; with fewer there is no result."""


def main() -> int:
    folder, seconds, operator = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    bench = Bench(folder, operator, seconds)
    bench.untouched()
    for call in bench.plan["calls"]:
        if call["held_out"] or bench.folder.search(operator, call["number"]).is_file():
            continue
        if bench.left < 0:
            return 4
        _Call(bench, call).run()
        if not bench.works():
            return 3
    return 0


class _Call:
    """One call's search."""

    def __init__(self, bench: Bench, call: dict[str, Any]) -> None:
        self._bench, self._call = bench, call
        self._contenders = [choice_from(one) for one in call["contenders"]]
        self._path = bench.folder.search(bench.operator, call["number"])
        self._trying = bench.folder.trying(bench.operator, call["number"])
        self._blocks = self._disturbed = 0

    def run(self) -> None:
        ended = self._ended_before()
        if len(ended) >= MOST_TRIES:
            self._write(begin(0), ended, f"its processes ended {len(ended)} times")
            return
        try:
            held = self._bench.hold(self._call, secrets.randbits(31))
            self._write(*self._searched(held, ended))
        except (TraceError, SideProblem) as error:
            self._write(begin(0), ended, f"{type(error).__name__}: {error}"[:500])
        torch.cuda.empty_cache()

    def _searched(self, held: Held, ended: list[int]) -> tuple[Search, list[int], str | None]:
        search = begin(len(self._contenders))
        while questions := asks(search):
            search = told(search, {ask.contender: self._answer(held, ask, ended) for ask in questions})
            if problem := self._bench.disturbed():
                return search, ended, problem
        kept = self._blocks - self._disturbed
        problem = None
        if self._blocks and kept < LEAST_UNDISTURBED * self._blocks:
            problem = f"the clock moved, or heat or power slowed the GPU down, in {self._disturbed} blocks"
        return search, ended, problem

    def _answer(self, held: Held, ask: Ask, ended: list[int]) -> Measured | Lost:
        if ask.contender in ended:
            return Lost(reason="the process that ran it ended: it hung, crashed, or spoilt the GPU's memory")
        self._note(ask.contender, ended)
        found: Measured | Lost
        try:
            blocks = held.blocks(self._contenders[ask.contender], ask.blocks)
        except SideProblem as error:
            if not self._bench.works():
                sys.exit(3)  # the note stays: the next process finds the contender out
            found = Lost(reason=str(error))
        else:
            good = [block for block in map(asdict, blocks) if is_undisturbed(block)]
            self._blocks += len(blocks)
            self._disturbed += len(blocks) - len(good)
            found = tuple(block_log_ratio(block["order"], block["ns"]) for block in good)
        self._note(None, ended)
        return found

    def _ended_before(self) -> list[int]:
        kept = read_json(self._trying) if self._trying.is_file() else {"ended": [], "now": None}
        return [*kept["ended"], *([kept["now"]] if kept["now"] is not None else [])]

    def _note(self, now: int | None, ended: list[int]) -> None:
        write_json(self._trying, {"now": now, "ended": ended})

    def _write(self, search: Search, ended: list[int], problem: str | None) -> None:
        scores = search.scores()
        lost = dict(search.lost)
        document = {
            "call": self._call["id"],
            "winner": None if problem else search.winner,
            "problem": problem,
            "blocks": self._blocks,
            "set_aside": self._disturbed,
            "missed": self._bench.rig.carried.missed,
            "contenders": [
                {
                    "choice": self._call["contenders"][number],
                    "score": scores.get(number),
                    "blocks": len(dict(search.ratios).get(number, ())),
                    "lost": lost.get(number),
                }
                for number in range(len(self._contenders))
            ],
        }
        write_json(self._path, document)


if __name__ == "__main__":
    sys.exit(main())
