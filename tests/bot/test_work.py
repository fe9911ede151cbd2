"""From deliveries to what stands in the issue, through the server's tables, on a GitHub that remembers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.bot.fakegithub.faults import Kind
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.serving import LABEL, NAME, Killed, Serving, serving

from tileport_bot import inbox, requests, work
from tileport_bot.handle import Bot, handle, port_now
from tileport_bot.memory import IssueMemory
from tileport_bot.replies import status_comment
from tileport_bot.status import Record, Stage
from tileport_bot.sweep import end_what_was_left_behind, say_what_was_not_said
from tileport_bot.work import work_on_deliveries, work_on_requests
from tileport_driver.records import MachineryFailed


@pytest.fixture
def room(fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serving:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    monkeypatch.setattr(work, "_BACK_OFF", (0.0,) * 5)
    monkeypatch.setattr("tileport_bot.writes.DELAYS", (0.0, 0.0, 0.0))
    return serving(fake, tmp_path)


def lines() -> list[str]:
    return [done.line for done in reversed(inbox.newest(1000))]


def test_a_label_becomes_a_draft_pull_request_and_one_comment_that_ends_done(room: Serving) -> None:
    issue = room.issue()
    room.works(room.labels(issue))
    assert room.record(issue).stage is Stage.DONE
    assert [reaction.content for reaction in issue.reactions] == ["eyes"]
    (pull,) = room.pulls()
    assert pull.pull is not None
    assert (pull.pull.draft, pull.pull.head_branch, pull.pull.base_branch) == (True, "port/silu_and_mul", "main")
    assert pull.pull.head_sha == room.fake.head(room.repository, "port/silu_and_mul")
    assert f"Asked for in #{issue.number} by `alice`" in (pull.body or "")
    assert lines() == ["queued: silu_and_mul"]


def test_where_people_reach_the_status_page_the_comment_links_the_requests_own(room: Serving) -> None:
    room.shop = replace(room.shop, public_url="https://tileport.example")
    issue = room.issue()
    room.works(room.labels(issue))
    (request,) = requests.newest(10)
    address = f"https://tileport.example/requests/{request.id}"
    assert room.record(issue).evidence == address
    assert f"[This attempt's record](<{address}>)" in room.said(issue)[0]


def test_two_hooks_twenty_redeliveries_and_six_labels_are_one_request(room: Serving) -> None:
    issue = room.issue()
    first = room.labels(issue)
    for _ in range(20):
        room.comes(first, id="the-first-hook")
    room.comes(first, id="the-second-hook")
    for name in ("bug", "help wanted", "port: Silu-And-Mul", "PORT: siluandmul", "port:silu_and_mul"):
        room.comes(room.labels(issue, name))
    room.works()
    assert room.driver.begun == ["silu_and_mul-1"]
    assert len(room.said(issue)) == 1
    assert len(room.pulls()) == 1
    room.works(first)
    assert room.driver.begun == ["silu_and_mul-1"]


def test_the_same_operator_asked_for_in_two_issues_is_ported_once(room: Serving) -> None:
    one, two = room.issue(), room.issue()
    room.works(room.labels(one), room.labels(two))
    assert room.driver.begun == ["silu_and_mul-1"]
    assert "is being worked on already, asked for in #" in room.said(two)[0]


def test_a_label_taken_off_while_it_waits_cancels_and_put_on_again_asks_again(room: Serving) -> None:
    issue = room.issue()
    room.works(room.labels(issue), room.labels(issue, off=True))
    assert room.driver.begun == []
    assert room.record(issue).stage is Stage.CANCELLED
    room.works(room.labels(issue))
    assert room.record(issue).stage is Stage.DONE
    assert room.driver.begun == ["silu_and_mul-1"]


def test_a_label_taken_off_while_an_attempt_runs_stops_it(room: Serving) -> None:
    issue = room.issue()
    room.comes(room.labels(issue))

    def taken_off() -> None:
        room.comes(room.labels(issue, off=True))
        work_on_deliveries(room.shop, drain=True)

    room.driver.while_running = taken_off
    room.works()
    assert room.record(issue).stage is Stage.CANCELLED
    assert room.pulls() == []


def test_two_attempts_stay_two(room: Serving) -> None:
    room.driver.rejects = 9
    issue = room.issue()
    room.works(room.labels(issue))
    room.works(room.comments(issue, "/retry"))
    room.works(room.comments(issue, "/retry"))
    assert len(room.driver.begun) == 2
    assert "Both attempts at `silu_and_mul` are spent" in room.said(issue)[-1]
    assert "**Gate:** build." in room.said(issue)[0]


def test_a_batch_makes_one_attempt_for_each_operator_in_one_issue(room: Serving) -> None:
    issue = room.issue()
    room.works(room.comments(issue, "/port all"))
    assert sorted(room.driver.begun) == ["rms_norm-1", "silu_and_mul-2"]
    assert len(room.pulls()) == 2
    assert any(body.partition("\n")[2].startswith("2 operators are queued") for body in room.said(issue))
    room.works(room.comments(issue, "/port all"))
    assert len(room.driver.begun) == 4  # unproved ports cost no attempt: asked again is made again


@pytest.mark.parametrize("by", ["tom", "stranger", "helpful[bot]", "tileport[bot]"])
def test_who_may_not_ask_is_not_answered(room: Serving, by: str) -> None:
    issue = room.issue()
    room.works(room.labels(issue, by=by), room.comments(issue, "/port silu_and_mul", by=by))
    assert room.driver.begun == []
    assert len(room.said(issue)) == (by.endswith("[bot]"))  # their own comment


@pytest.mark.parametrize("stage", [Stage.PREPARING, Stage.RUNNING, Stage.CAPTURED, Stage.CHECKING])
def test_an_attempt_whose_worker_was_killed_is_gone_on_with(
    room: Serving, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = room.issue()
    room.comes(room.labels(issue))
    work_on_deliveries(room.shop, drain=True)
    room.driver.dies_at = stage
    with killed(monkeypatch):
        work_on_requests(room.shop, drain=True)
    assert room.record(issue).stage is stage
    work_on_requests(room.shop, drain=True)
    assert room.record(issue).stage is Stage.DONE
    assert room.driver.begun == ["silu_and_mul-1"]
    assert len(room.said(issue)) == len(room.pulls()) == 1


@pytest.mark.parametrize("point", ["push_branch", "create_pull_request", "edit_comment"])
def test_whatever_write_the_worker_was_killed_after_nothing_is_done_twice(
    room: Serving, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = room.issue()
    room.comes(room.labels(issue))
    work_on_deliveries(room.shop, drain=True)
    real, left = getattr(room.shop.github, point), [1]

    def and_die(*arguments: object) -> object:
        done = real(*arguments)
        final = point != "edit_comment" or "draft until" in str(arguments[2])
        if final and left.pop() if final and left else False:
            raise Killed
        return done

    monkeypatch.setattr(room.shop.github, point, and_die)
    with killed(monkeypatch):
        work_on_requests(room.shop, drain=True)
    assert left == []
    work_on_requests(room.shop, drain=True)
    assert list(say_what_was_not_said(room.shop.github)) == []
    assert room.record(issue).stage is Stage.DONE
    assert len(room.said(issue)) == len(room.pulls()) == len(room.driver.begun) == 1


def killed(monkeypatch: pytest.MonkeyPatch) -> pytest.RaisesExc[Killed]:
    """What the block does ends like a killed process: nothing is written after it, and its worker is gone."""
    monkeypatch.setattr(work, "is_gone", lambda worker: True)
    monkeypatch.setattr("tileport_bot.handle.give_up", lambda *_: None)
    return pytest.raises(Killed)


def test_a_delivery_that_github_was_out_of_reach_for_is_handled_later_and_keeps_its_place(room: Serving) -> None:
    issue = room.issue()
    on, off = room.labels(issue), room.labels(issue, off=True)
    room.fake.faults.add(Kind.UNAVAILABLE, "GET", ".*/permission", times=6)
    room.works(on, off)
    assert room.record(issue).stage is Stage.CANCELLED
    assert room.driver.begun == []


def test_a_machinery_that_fails_is_tried_again_and_then_told(room: Serving) -> None:
    issue = room.issue()
    failed = MachineryFailed(reason="Docker does not answer.")
    room.driver.ends = lambda finished: replace(finished, outcome=failed)
    room.works(room.labels(issue))
    assert room.driver.begun == ["silu_and_mul-1"]
    assert "Docker does not answer." in room.said(issue)[0]
    assert room.record(issue).stage is Stage.FAILED


def test_a_bug_that_nobody_can_be_told_of_is_not_met_for_ever(room: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = room.issue()
    met: list[int] = []

    def bug(*_: object) -> None:
        met.append(1)
        raise ZeroDivisionError

    room.comes(room.labels(issue))
    work_on_deliveries(room.shop, drain=True)
    monkeypatch.setattr("tileport_bot.handle.conclude", bug)
    work_on_requests(room.shop, drain=True)
    assert 6 <= len(met) <= 12
    (request,) = requests.newest(10)
    assert (request.state, request.record.stage) == ("ended", Stage.FAILED)
    assert requests.log_lines(request.id)[-1][1] == "a bug of ours, ZeroDivisionError: the log holds it"


def test_a_label_whose_event_never_came_is_found_by_the_sweep_and_the_late_event_is_not_a_second(
    room: Serving,
) -> None:
    issue, other, wrong = room.issue(), room.issue(), room.issue()
    late = room.labels(issue)
    room.labels(other, "port: rms_norm", by="tom")
    room.labels(wrong, "port: nothing_like_it")
    room.works()
    assert room.driver.begun == ["silu_and_mul-1"]
    assert room.said(other) == []
    assert len(room.said(wrong)) == 1
    room.works(late)
    room.works()
    assert room.driver.begun == ["silu_and_mul-1"]
    assert len(room.said(issue)) == len(room.said(wrong)) == 1


def test_an_end_that_could_not_be_said_is_said_by_the_sweep(room: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = room.issue()
    room.comes(room.labels(issue))
    work_on_deliveries(room.shop, drain=True)
    real = room.shop.github.edit_comment

    def away(repository: str, comment: int, body: str) -> None:
        if "draft until" in body:
            room.fake.faults.add(Kind.UNAVAILABLE, "(PATCH|GET)", ".*/comments.*", times=5)
        real(repository, comment, body)

    monkeypatch.setattr(room.shop.github, "edit_comment", away)
    work_on_requests(room.shop, drain=True)
    assert room.record(issue).stage is Stage.PUBLISHING
    assert [request.told for request in requests.newest(1)] == [False]
    monkeypatch.setattr(room.shop.github, "edit_comment", real)
    assert requests.untold(seconds=30) == ()
    assert [request.record.operator for request in requests.untold(seconds=0)] == ["silu_and_mul"]
    (line,) = say_what_was_not_said(room.shop.github, after=0)
    assert line == f"{NAME}#{issue.number}: silu_and_mul: told its end"
    assert room.record(issue).stage is Stage.DONE


def test_a_base_that_moved_and_no_longer_has_the_reference_is_told_in_the_pull_request(room: Serving) -> None:
    issue = room.issue()
    path = "src/tilegym/ops/cutile/silu_and_mul.py"
    room.driver.while_running = lambda: room.fake.push_files(room.repository, "main", {path: "x = 1\n"}, "another")
    room.works(room.labels(issue))
    (pull,) = room.pulls()
    assert "**The reference has changed since:**" in (pull.body or "")


def test_a_status_comment_that_was_deleted_is_made_anew(room: Serving) -> None:
    issue = room.issue()

    def delete() -> None:
        for comment in [c for c in room.repository.comments.values() if c.user.login.endswith("[bot]")]:
            del room.repository.comments[comment.id]

    room.driver.while_running = delete
    room.works(room.labels(issue))
    assert room.record(issue).stage is Stage.DONE


def test_issues_that_are_deleted_or_transferred_stop_nobody_elses_request(room: Serving) -> None:
    deleted, moved, kept = room.issue(), room.issue(), room.issue()
    events = [room.labels(deleted), room.labels(moved)]
    room.fake.delete_issue(deleted)
    room.fake.transfer(room.repository, moved, room.fake.add_repository("example/Elsewhere"))
    room.works(*events, room.labels(kept, "port: rms_norm"))
    assert room.record(kept).stage is Stage.DONE
    assert [line.partition(":")[0] for line in lines()] == ["refused", "refused", "queued"]


def test_an_issue_of_a_thousand_comments_and_a_comment_of_a_megabyte_are_read(room: Serving) -> None:
    issue = room.issue()
    for number in range(250):
        room.fake.comment(room.repository, issue, "bob", f"comment {number}")
    payload = room.comments(issue, "/port silu_and_mul")
    payload["comment"]["body"] = "/port silu_and_mul\n" + "😀" * 250_000
    room.works(payload)
    room.works(room.comments(issue, "/status"))
    assert room.record(issue).stage is Stage.DONE
    assert "| `silu_and_mul` | done | 1 of 2 |" in room.said(issue)[-1]


def test_a_repository_renamed_after_its_event_is_written_to(room: Serving) -> None:
    issue = room.issue()
    event = room.labels(issue)
    room.fake.rename(room.repository, "NewGym")
    room.works(event)
    assert room.record(issue).stage is Stage.DONE
    assert len(room.pulls()) == 1


def test_a_repository_that_is_not_served_is_left_alone(room: Serving) -> None:
    room.shop = replace(room.shop, repositories=("example/Other",))
    room.works(room.labels(room.issue()))
    assert lines() == ["ignored: this repository is not served here"]


def test_check_without_a_kept_attempt_says_what_to_do(room: Serving) -> None:
    issue = room.issue()
    room.works(room.labels(issue, LABEL))
    room.works(room.comments(issue, "/check"))
    assert "The pull request says how each gate is run by hand." in room.said(issue)[-1]


def test_a_comment_that_a_dead_runner_left_behind_is_ended_by_the_sweep_and_a_young_one_is_not(room: Serving) -> None:
    issue = room.issue()
    room.labels(issue)
    record = Record(
        operator="silu_and_mul", reference="a" * 64, stage=Stage.RUNNING, attempt=1, asked_by="alice", trigger="t"
    )
    body = status_comment(record, updated="2026-08-22 12:03 UTC")
    room.shop.github.create_comment(NAME, issue.number, body)

    def bot(at: datetime) -> Bot:
        github = room.shop.github
        return replace(room.shop.bot(NAME), memory=IssueMemory(github), now=lambda: at, start=port_now)

    then = datetime(2026, 8, 22, 12, 3, tzinfo=UTC)
    assert list(end_what_was_left_behind(bot(then + timedelta(hours=6)), NAME)) == []
    (line,) = end_what_was_left_behind(bot(then + timedelta(hours=8)), NAME)
    assert line.endswith("nobody works on it any more")
    assert room.record(issue).stage is Stage.FAILED
    assert "It was stopped before its end; `/retry` asks again." in room.said(issue)[0]
    assert list(end_what_was_left_behind(bot(then + timedelta(hours=8)), NAME)) == []


def test_a_batch_that_a_workflow_starts_writes_pull_requests_and_in_no_issue(room: Serving) -> None:
    github = room.shop.github
    bot = replace(room.shop.bot(NAME), memory=IssueMemory(github), start=port_now, resumes=False)
    labelled = room.labels(room.issue())
    payload = {"repository": labelled["repository"], "sender": labelled["sender"], "inputs": {"operators": "all"}}
    assert handle(bot, "workflow_dispatch", payload).line == "unproved: rms_norm\nunproved: silu_and_mul"
    assert len(room.pulls()) == 2
    assert "Asked for by `alice`." in (room.pulls()[0].body or "")
    assert room.repository.comments == {}
    handle(bot, "workflow_dispatch", {**payload, "inputs": {"operators": "rms_norm"}})
    assert len(room.pulls()) == 2
    assert len(room.driver.begun) == 3
