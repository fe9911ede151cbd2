"""A whole tuning on the stand-in device: searching, what is lost on the way, and winners measured again."""

from __future__ import annotations

from tests.skill.tuning.conftest import Rehearse

from tileport_skill.timing.raw import read_json


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
