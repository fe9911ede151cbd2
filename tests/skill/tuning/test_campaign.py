"""A whole tuning on the stand-in device: searching, what is lost on the way, and winners measured again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.skill.tuning.conftest import Rehearse

from tileport_skill.timing.raw import read_json, write_json
from tileport_skill.tuning.campaign import TOGETHER, Campaign
from tileport_skill.tuning.folder import TuningFolder


def test_the_fastest_right_choice_of_each_call_wins_and_is_measured_again(rehearse: Rehearse) -> None:
    folder = rehearse((256, 512), held_out=(384,), fault="aborts", processes=1)
    searched = [read_json(folder.search("softmax", number)) for number in (0, 1)]
    for one in searched:
        contenders = one["contenders"]
        assert one["problem"] is None
        fields = contenders[one["winner"]]["choice"]["kernels"]["_softmax_kernel"]["fields"]
        assert fields == {"TILE": 128, "occupancy": 2}
        assert "the process that ran it ended" in contenders[1]["lost"]
        assert "its output is wrong" in contenders[4]["lost"]
        assert "no such tile" in contenders[5]["lost"]
    jobs = read_json(folder.jobs("softmax"))
    assert {(job["call"], *job["why"]) for job in jobs} >= {
        (0, "class", "winner"),
        (1, "class", "winner"),
        (2, "class"),
    }
    rows = read_json(folder.samples("softmax", 0))["rows"]
    assert {row["row"] for row in rows} == {job["row"] for job in jobs}
    assert not any("error" in row for row in rows), rows


class Scheduled(Campaign):
    """The real order of things; what a process would measure is written down at once, `broken` ones nothing."""

    made: ClassVar[list[list[str]]] = []
    broken: ClassVar[set[tuple[str, str]]] = set()

    def _probe(self, plan: dict[str, Any], operators: Sequence[str]) -> None: ...

    def _searched(self, operator: str, document: dict[str, Any]) -> bool:
        return True

    def _others(self) -> int:
        return 0

    def _child(self, log: str, module: str, more: list[str], seconds: float, watched: str | None = None) -> int:
        process, _others, *operators = more
        self.made.append([process, *operators])
        for name in operators:
            if (process, name) not in self.broken:
                write_json(self.folder.samples(name, int(process)), {"rows": [{"row": "r"}]})
        return 0


def test_operators_share_the_processes_that_measure_their_winners_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TuningFolder(tmp_path)
    names = [f"op{number}" for number in range(TOGETHER + 1)]
    write_json(folder.plan, {"arch": "sm_90", "operators": {name: {} for name in names}})
    for name in names:
        write_json(folder.jobs(name), [{"row": "r"}])
    write_json(folder.samples("op0", 0), {"rows": [{"row": "r"}]})  # of a run that was broken off
    monkeypatch.setattr(Scheduled, "broken", {("1", "op2")})
    monkeypatch.setattr(Scheduled, "made", [])
    assert Scheduled(folder, tmp_path, 1e6, say=lambda _text: None, processes=2).run()
    first = names[:TOGETHER]
    assert Scheduled.made == [["0", *first[1:]], ["1", *first], ["2", "op2"], ["0", names[-1]], ["1", names[-1]]]
