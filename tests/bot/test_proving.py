"""A port that no GPU has seen waits for one, and what that finds is told in its issue and in its pull request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.bot.conftest import MISSING
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Issue, Pull
from tests.bot.serving import NAME, Serving, serving

from tileport_bot.driver import Finished, TimedRow
from tileport_bot.proving import prove
from tileport_bot.status import Stage
from tileport_driver import jobs
from tileport_driver.outcome import accept
from tileport_driver.records import (
    Delivery,
    Failed,
    Gate,
    NotPorted,
    NotRun,
    Outcome,
    Passed,
    Ported,
    PortRequest,
    Unproved,
)
from tileport_driver.store import new_attempt

CORRECT = Passed(gate="correctness", evidence=("26 of 26 tests pass.",))
FAST = Passed(gate="performance", evidence=("9 of 9 rows are fast enough.",))
SLOW = Failed(gate="performance", reasons=("row 1: 0.70",))
UNDECIDED = NotRun(gate="performance", why="Its clocks moved.", how="Measure it again.")


@pytest.fixture
def room(fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serving:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    return serving(fake, tmp_path)


@pytest.fixture
def issue(room: Serving) -> Issue:
    """One whose port stands in a draft pull request, with its attempt kept here."""
    issue = room.issue()
    room.works(room.labels(issue))
    request = PortRequest(
        repository="/r", operator="silu_and_mul", base_commit="1" * 40, reference_hash="2" * 64, engine="scripted"
    )
    new_attempt(request, "silu_and_mul-1")
    return issue


def pull(room: Serving) -> Pull:
    (found,) = room.pulls()
    assert found.pull is not None
    return found.pull


def proved(room: Serving) -> list[str]:
    return list(prove(room.shop.bot))


def judged(room: Serving, *gates: Gate, result: str) -> None:
    """A worker with a GPU has judged it, and the driver finds the attempt so."""
    lease = jobs.take("gpu", "worker")
    assert lease is not None
    jobs.finish(lease, result)
    delivery = Delivery(branch="port/silu_and_mul", commit=pull(room).head_sha)
    ends: dict[str, Outcome] = {
        "ported": Ported(delivery=delivery),
        "not ported": NotPorted(reasons=("row 1: 0.70",)),
        "unproved": Unproved(delivery=delivery, missing=(UNDECIDED,)),
    }
    rows = (TimedRow("row 1", 0.99, 1.0, 1.01),)
    room.driver.ends = lambda finished: replace(
        finished, outcome=ends[result], acceptance=accept(gates), timed_rows=rows
    )


def test_an_unproved_port_is_entered_once_for_a_gpu_without_being_asked(room: Serving, issue: Issue) -> None:
    assert proved(room) == [f"{NAME}#{issue.number}: silu_and_mul: waits for a machine with a GPU"]
    assert proved(room) == []
    (job,) = jobs.all_jobs()
    assert (job.queue, job.attempt, job.state) == ("gpu", "silu_and_mul-1", "waiting")


def test_a_port_that_is_proved_asks_for_review_with_its_rows(room: Serving, issue: Issue) -> None:
    proved(room)
    judged(room, CORRECT, FAST, result="ported")
    (line,) = proved(room)
    assert "told what a GPU found: done: ported" in line
    assert not pull(room).draft
    (there,) = room.pulls()
    assert "1.000 [0.990, 1.010]" in (there.body or "")
    assert "Not yet proved" not in (there.body or "")
    assert "`silu_and_mul` is ported" in room.said(issue)[0]
    assert "not yet proved" not in room.said(issue)[0]
    record = room.record(issue)
    assert (record.stage, record.spent, record.history) == (Stage.DONE, 0, ("1: unproved", "1: ported"))
    assert proved(room) == []
    assert len(room.said(issue)) == 1


def test_one_that_a_gpu_finds_wrong_spends_its_attempt_and_stays_a_draft(room: Serving, issue: Issue) -> None:
    proved(room)
    judged(room, CORRECT, SLOW, result="not ported")
    proved(room)
    assert pull(room).draft
    (there,) = room.pulls()
    assert "**Not accepted:** performance failed" in (there.body or "")
    assert "was not ported" in room.said(issue)[0]
    assert "row 1: 0.70" in room.said(issue)[0]
    assert (room.record(issue).stage, room.record(issue).spent) == (Stage.FAILED, 1)
    room.works(room.comments(issue, "/retry"))
    assert room.driver.begun == ["silu_and_mul-1", "silu_and_mul-2"]


def test_one_that_a_gpu_cannot_decide_says_why_once_and_may_be_judged_again(room: Serving, issue: Issue) -> None:
    proved(room)
    judged(room, CORRECT, UNDECIDED, result="unproved")
    assert len(proved(room)) == 1
    assert pull(room).draft
    assert "Its clocks moved." in room.said(issue)[0]
    assert proved(room) == []
    jobs.submit(_request(), "gpu", "silu_and_mul-1")
    judged(room, CORRECT, FAST, result="ported")
    assert len(proved(room)) == 1
    assert not pull(room).draft


def test_what_a_person_pushed_on_top_was_not_judged_and_stays_a_draft(room: Serving, issue: Issue) -> None:
    proved(room)
    judged(room, CORRECT, FAST, result="ported")
    room.fake.push_files(room.repository, "port/silu_and_mul", {"theirs": "x"})
    (line,) = proved(room)
    assert "told what a GPU found" in line
    assert pull(room).draft


def test_a_pull_request_that_was_closed_meanwhile_is_left_alone(room: Serving, issue: Issue) -> None:
    proved(room)
    (there,) = room.pulls()
    before, there.state = there.body, "closed"
    judged(room, CORRECT, FAST, result="ported")
    proved(room)
    assert (there.body, pull(room).draft) == (before, True)
    assert f"[Pull request {there.number}]" in room.said(issue)[0]


def test_of_a_port_that_was_asked_for_again_the_comment_is_the_later_requests(room: Serving, issue: Issue) -> None:
    proved(room)
    room.works(room.comments(issue, "/retry"))
    assert room.driver.begun == ["silu_and_mul-1", "silu_and_mul-2"]
    said = room.said(issue)
    judged(room, CORRECT, SLOW, result="not ported")
    assert proved(room) == []
    assert room.said(issue) == said


def _request() -> PortRequest:
    (job,) = {job.attempt: job for job in jobs.all_jobs()}.values()
    return job.request


def test_a_finding_that_could_not_be_told_is_told_next_time(
    room: Serving, issue: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved(room)
    judged(room, CORRECT, FAST, result="ported")
    room.driver.ends, ends = _unreachable, room.driver.ends
    with pytest.raises(ConnectionError):
        proved(room)
    room.driver.ends = ends
    assert len(proved(room)) == 1
    assert MISSING.why not in room.said(issue)[0]


def _unreachable(finished: Finished) -> Finished:
    raise ConnectionError
