"""From an event to what stands in the issue: every part real, GitHub a folder, the driver scripted."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.bot.conftest import MakeRoom, Room, event, rejected, unproved

from tileport_bot.driver import Cancelled, Finished
from tileport_bot.permissions import Permission
from tileport_bot.status import Stage, read_record
from tileport_driver.records import Delivery, DraftRun, MachineryFailed, NotPorted, Ported, Refused
from tileport_skill.errors import MachineryError, RequestError

STAGES = ["authorised", "queued", "preparing", "running", "captured", "checking", "publishing", "done"]


def stages(room: Room) -> list[str]:
    """The stages the status comment went through, from the writes that were kept."""
    bodies = [path.read_text() for path in sorted(room.out.glob("*-comment.json"))]
    return [found[1] for body in bodies if (found := re.search(r'\\"stage\\": \\"(\w+)\\"', body))]


def labelled_again(at: str, name: str = "issues.labeled") -> dict[str, Any]:
    document = event(name)
    document["issue"]["updated_at"] = at
    return document


def test_a_label_becomes_a_draft_pull_request_and_one_comment_that_ends_done(make_room: MakeRoom) -> None:
    room = make_room(unproved())
    handled = room.handle("issues.labeled")
    assert (handled.line, handled.exit_code) == ("unproved: silu_and_mul", 0)
    assert stages(room) == STAGES
    assert room.writes() == [
        "react",
        "create comment",
        *["edit comment"] * 6,
        "push branch",
        "create pull request",
        "edit comment",
    ]
    assert "[Pull request 1](<pull-request-1.md>)" in room.comment()
    assert "Draft pull request" in (room.out / "pull-request-1.md").read_text()


def test_in_a_workflow_the_comment_links_the_run_that_keeps_the_record(make_room: MakeRoom, tmp_path: Path) -> None:
    room = make_room(rejected(tmp_path / "attempt"))
    room.bot = replace(room.bot, evidence="https://github.example/a/b/actions/runs/7")
    room.handle("issues.labeled")
    assert "[This attempt's record](<https://github.example/a/b/actions/runs/7>)" in room.comment()
    assert str(tmp_path) not in room.comment()
    record = read_record(room.comment())
    assert record is not None
    assert record.evidence.endswith("/runs/7")


def test_any_spelling_that_names_one_operator_will_do(make_room: MakeRoom) -> None:
    room = make_room(unproved())
    payload = event("issues.labeled")
    payload["label"]["name"] = "port: RMSNorm"
    room.handle("issues", payload)
    assert room.driver.ran == [("rms_norm", 1)]


def test_a_comment_asks_too_and_gets_its_reaction(make_room: MakeRoom) -> None:
    room = make_room(unproved())
    room.handle("issue_comment.created")
    assert room.driver.ran == [("silu_and_mul", 1)]
    assert room.said[0] == "[dry run] react with 👀 on comment 4001"


def test_a_rejected_port_ends_in_a_diagnosis_and_no_branch(make_room: MakeRoom, tmp_path: Path) -> None:
    room = make_room(rejected(tmp_path / "attempt"))
    assert room.handle("issues.labeled").exit_code == 0
    assert stages(room)[-1] == "failed"
    assert not {"push branch", "create pull request"} & set(room.writes())
    comment = room.comment()
    assert "**Gate:** build." in comment
    assert "error[E0308]: mismatched types\n --> kernel.rs:2:13" in comment
    assert "**Whose it is:** the kernel (`kernel.rs`)." in comment


def test_the_same_event_again_is_the_one_job_there_is(make_room: MakeRoom) -> None:
    room = make_room(unproved())
    room.handle("issues.labeled")
    before = room.writes()
    for _ in range(20):
        assert room.handle("issues.labeled").line == "ignored: this was answered before; it is the same event again"
    assert room.writes() == before
    assert len(room.driver.ran) == 1


def test_another_label_while_one_attempt_runs_starts_nothing(make_room: MakeRoom) -> None:
    room = make_room(unproved())
    lines: list[str] = []
    room.driver.while_running = lambda: lines.append(room.handle("issues", labelled_again("2026-08-22T12:04:00Z")).line)
    room.handle("issues.labeled")
    assert lines == ["ignored: silu_and_mul is being worked on already (running)"]
    assert len(room.driver.ran) == 1


def test_two_attempts_stay_two_and_a_third_is_refused(make_room: MakeRoom, tmp_path: Path) -> None:
    room = make_room(*(rejected(tmp_path / name) for name in ("one", "two", "three")))
    room.handle("issues.labeled")
    assert "1 of 2 attempts left" in room.comment()
    room.handle("issues", labelled_again("2026-08-22T13:00:00Z"))
    assert "- Attempt 1: not ported at the gate build\n- Attempt 2: not ported at the gate build" in room.comment()
    assert "`/retry`" not in room.comment()
    room.handle("issues", labelled_again("2026-08-22T14:00:00Z"))
    assert room.driver.ran == [("silu_and_mul", 1), ("silu_and_mul", 2)]
    assert "Both attempts at `silu_and_mul` are spent" in room.comment(2)


def test_a_rejected_draft_costs_no_attempt_and_is_the_programs(make_room: MakeRoom, tmp_path: Path) -> None:
    draft = DraftRun(seconds=1, report=None, refused=("No port can be drafted: x.",))
    room = make_room(Finished(outcome=NotPorted(reasons=draft.refused), draft=draft))
    room.handle("issues.labeled")
    assert "2 of 2 attempts left" in room.comment()
    assert "the drafting program" in room.comment()
    assert "No port can be drafted: x." in room.comment()


def test_a_changed_reference_is_another_request_with_its_own_attempts(
    make_room: MakeRoom, tmp_path: Path, checkout: Path
) -> None:
    room = make_room(rejected(tmp_path / "one"), rejected(tmp_path / "two"), unproved())
    room.handle("issues.labeled")
    room.handle("issues", labelled_again("2026-08-22T13:00:00Z"))
    with (checkout / "src/tilegym/ops/cutile/silu_and_mul.py").open("a") as source:
        source.write("# changed\n")
    room.handle("issues", labelled_again("2026-08-22T14:00:00Z"))
    assert room.driver.ran[-1] == ("silu_and_mul", 1)


def test_what_is_unproved_or_our_own_failure_costs_no_attempt(make_room: MakeRoom) -> None:
    failed = Finished(outcome=MachineryFailed(reason="Docker does not answer."))
    room = make_room(unproved(), failed, unproved())
    room.handle("issues.labeled")
    assert room.handle("issues", labelled_again("2026-08-22T13:00:00Z")).exit_code == 13
    assert "Docker does not answer." in room.comment()
    room.handle("issues", labelled_again("2026-08-22T14:00:00Z"))
    assert [attempt for _, attempt in room.driver.ran] == [1, 1, 1]


def test_a_second_delivery_updates_the_pull_request_there_is(make_room: MakeRoom) -> None:
    proved = Finished(outcome=Ported(delivery=Delivery(branch="port/silu_and_mul", commit="7" * 40)))
    room = make_room(unproved(), proved)
    room.handle("issues.labeled")
    room.handle("issues", labelled_again("2026-08-22T13:00:00Z"))
    assert room.writes().count("create pull request") == 1
    assert room.writes().count("edit pull request") == 1


def test_a_repository_that_wants_no_drafts_gets_the_branch_only(make_room: MakeRoom) -> None:
    room = make_room(unproved(), drafts=False)
    room.handle("issues.labeled")
    assert "create pull request" not in room.writes()
    assert "The port is on the branch `port/silu_and_mul`; no pull request was opened for it." in room.comment()


@pytest.mark.parametrize("permission", [Permission.READ, Permission.NONE])
def test_who_may_not_write_is_not_answered(make_room: MakeRoom, permission: Permission) -> None:
    room = make_room(unproved(), permission=permission)
    for name in ("issues.labeled", "issue_comment.created", "issue_comment.created.misspelt"):
        assert room.handle(name).line == f"ignored: alice may not write to example/TileGym (permission: {permission})"
    assert room.writes() == []


@pytest.mark.parametrize(
    "name",
    [
        "issues.labeled.by-bot",
        "issues.labeled.label-deleted",
        "issues.labeled.other-label",
        "issues.transferred",
    ],
)
def test_what_is_not_for_us_writes_nothing(make_room: MakeRoom, name: str) -> None:
    room = make_room(unproved())
    assert room.handle(name).line.startswith("ignored: ")
    assert room.writes() == []


def test_an_unknown_operator_is_answered_once_with_the_nearest_names(make_room: MakeRoom) -> None:
    room = make_room()
    for _ in range(3):
        room.handle("issues.labeled.unknown-operator")
    assert room.writes() == ["create comment"]
    assert "The nearest: silu_and_mul." in room.comment()


def test_a_misspelt_command_is_asked_back(make_room: MakeRoom) -> None:
    room = make_room()
    room.handle("issue_comment.created.misspelt")
    assert "Did you mean `/port silu_and_mul`?" in room.comment()


def test_the_label_taken_off_stops_the_attempt_before_its_next_stage(make_room: MakeRoom) -> None:
    room = make_room(unproved())
    room.driver.while_running = lambda: room.handle("issues.unlabeled")
    assert room.handle("issues.labeled").line == "cancelled: silu_and_mul"
    assert "create pull request" not in room.writes()
    record = read_record(room.comment())
    assert record is not None
    assert (record.stage, record.spent) == (Stage.CANCELLED, 0)
    assert "### Porting `silu_and_mul`: cancelled" in room.comment()


def test_a_label_taken_off_after_the_end_changes_nothing(make_room: MakeRoom) -> None:
    room = make_room(unproved())
    room.handle("issues.labeled")
    before = room.comment()
    assert room.handle("issues.unlabeled").line.startswith("ignored: ")
    assert room.comment() == before


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyboardInterrupt(), "It was stopped before its end; `/retry` asks again."),
        (MachineryError("No disk: free 2 GiB."), "No disk: free 2 GiB."),
        (
            ZeroDivisionError("secret detail"),
            "A bug of ours, ZeroDivisionError: the log of this run holds it.",
        ),
    ],
)
def test_the_comment_comes_to_an_end_even_when_the_bot_does(
    make_room: MakeRoom, error: BaseException, said: str
) -> None:
    room = make_room(error)
    with pytest.raises(type(error)):
        room.handle("issues.labeled")
    assert said in room.comment()
    assert stages(room)[-1] == "failed"
    assert "secret detail" not in room.comment()


def test_a_comment_that_cannot_be_written_stops_no_attempt(
    make_room: MakeRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = make_room(unproved())
    edit = room.bot.github.edit_comment

    def refuse_while_running(repository: str, comment: int, body: str) -> None:
        if '"stage": "running"' in body:
            raise MachineryError("GitHub answered 502.")
        edit(repository, comment, body)

    monkeypatch.setattr(room.bot.github, "edit_comment", refuse_while_running)
    room.handle("issues.labeled")
    assert "The status comment could not be updated: GitHub answered 502." in room.said
    assert stages(room) == [stage for stage in STAGES if stage != "running"]


def test_retry_cancel_status_and_help_are_answered(make_room: MakeRoom) -> None:
    room = make_room(Finished(outcome=Refused(reason="It has no reference.")), unproved())

    def say(number: int, body: str) -> str:
        payload = event("issue_comment.created")
        payload["comment"] |= {"id": number, "body": body}
        return room.handle("issue_comment", payload).line

    assert say(1, "/status") == "answered: Nothing was asked for in this issue yet."
    assert say(2, "/retry") == "answered: There is nothing here that `/retry` could mean."
    assert say(3, "/cancel") == "answered: Nothing is being worked on in this issue."
    assert say(4, "/help") == "answered: | command | does |"
    assert say(5, "/port silu_and_mul") == "refused: silu_and_mul"
    assert say(6, "/retry") == "unproved: silu_and_mul"
    say(7, "/status")
    assert "| `silu_and_mul` | done | 1 of 2 |" in room.comment(6)


def test_a_second_process_finds_what_the_first_left(make_room: MakeRoom) -> None:
    make_room(unproved()).handle("issues.labeled")
    second = make_room(unproved())
    assert second.handle("issues.labeled").line == "ignored: this was answered before; it is the same event again"


def test_a_checkout_that_is_none_is_refused_before_anything_is_written(make_room: MakeRoom, checkout: Path) -> None:
    room = make_room(unproved())
    (checkout / "src/tilegym/ops/cutile_rs").rmdir()
    with pytest.raises(RequestError, match="is not a TileGym checkout"):
        room.handle("issues.labeled")
    assert room.writes() == []


def test_cancelled_is_what_a_stage_raises(make_room: MakeRoom) -> None:
    room = make_room(unproved())
    seen: list[BaseException] = []
    run = room.driver.run

    def run_and_see(*args: Any) -> Finished:
        try:
            return run(*args)
        except Cancelled as cancelled:
            seen.append(cancelled)
            raise

    room.driver.while_running = lambda: room.handle("issues.unlabeled")
    room.driver.run = run_and_see  # type: ignore[method-assign]
    room.handle("issues.labeled")
    assert len(seen) == 1
