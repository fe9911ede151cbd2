"""`/check` on a pull request: its ports wait for a GPU once, and the same comment says what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.bot.code_room import FILES, NAME, RUST, CodeRoom
from tests.bot.conftest import ScriptedDriver
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Issue

from tileport_bot.check_pull import tell_checks
from tileport_bot.handle import Bot, handle, port_now
from tileport_bot.memory import IssueMemory
from tileport_driver import jobs
from tileport_driver.outcome import accept, settle
from tileport_driver.records import Failed, Passed, Unproved
from tileport_driver.store import attempt_of

KERNEL = f"{RUST}/scale_kernel/kernel.rs"


@pytest.fixture
def room(fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CodeRoom:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.setitem(FILES, "tests/ops/test_scale.py", "import tilegym\n\ntilegym.ops.scale\n")
    return CodeRoom(fake, tmp_path)


@pytest.fixture
def pull(room: CodeRoom) -> Issue:
    return room.pull({KERNEL: "// of the pull request\n"})


def check(room: CodeRoom, pull: Issue, by: str = "alice", payload: dict[str, Any] | None = None) -> str:
    if payload is None:
        comment = room.fake.comment(room.repository, pull, by, "/check")
        payload = room.fake.payloads.commented(room.repository, comment)
    bot = Bot(
        github=room.host,
        driver=ScriptedDriver([]),
        memory=IssueMemory(room.host),
        checkout=room.checkout,
        start=port_now,
        judge=room.judge,
        log=room.said.append,
    )
    return handle(bot, "issue_comment", payload).line


def ours(room: CodeRoom, pull: Issue) -> list[str]:
    found = [c for c in room.repository.comments.values() if c.issue == pull.number]
    return [comment.body for comment in found if comment.user.login == "tileport[bot]"]


def test_a_maintainers_check_enters_each_touched_port_once_and_tells_its_end(room: CodeRoom, pull: Issue) -> None:
    assert check(room, pull) == "queued for a GPU: scale"
    assert "queued for a machine with a GPU" in ours(room, pull)[0]
    (job,) = jobs.all_jobs()
    assert (job.queue, job.request.operator, job.state) == ("gpu", "scale", "waiting")
    attempt = attempt_of(job.attempt or "")
    assert attempt is not None
    assert "+// of the pull request" in attempt.diff.read_text()
    assert list(tell_checks(room.host)) == []
    _judge_on_a_gpu(job.attempt or "")
    assert list(tell_checks(room.host)) == [f"{NAME}#{pull.number}: the check has ended and is told"]
    (body,) = ours(room, pull)
    assert "12 of 12 tests pass" in body
    assert "too slow" in body
    assert list(tell_checks(room.host)) == []


def _judge_on_a_gpu(name: str) -> None:
    """What a GPU worker writes."""
    attempt = attempt_of(name)
    assert attempt is not None
    outcome = attempt.outcome()
    assert isinstance(outcome, Unproved)
    passed = Passed(gate="correctness", evidence=("12 of 12 tests pass.",))
    acceptance = accept((passed, Failed(gate="performance", reasons=("too slow: 0.7",))))
    attempt.write("acceptance", acceptance)
    attempt.write("outcome", settle(acceptance, outcome.delivery))
    lease = jobs.take("gpu", "worker")
    assert lease is not None
    jobs.finish(lease, "not ported")


def test_the_same_comment_delivered_again_queues_and_says_nothing_more(room: CodeRoom, pull: Issue) -> None:
    comment = room.fake.comment(room.repository, pull, "alice", "/check")
    payload = room.fake.payloads.commented(room.repository, comment)
    for _ in range(3):
        check(room, pull, payload=payload)
    assert len(jobs.all_jobs()) == 1
    assert len(ours(room, pull)) == 1


def test_who_may_not_write_cannot_have_code_run_on_a_gpu(room: CodeRoom, pull: Issue) -> None:
    assert "carol may not write" in check(room, pull, by="carol")
    assert jobs.all_jobs() == ()
    assert ours(room, pull) == []


def test_a_pull_request_without_a_port_is_told_so(room: CodeRoom) -> None:
    pull = room.pull({"README.md": "x\n"})
    assert "touches no cuTile Rust kernel" in check(room, pull)
    assert jobs.all_jobs() == ()
