"""A push that parts a port from its reference leaves one issue, which closes by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bot.code_room import FILES, NAME, RUST, CodeRoom, different, equal
from tests.bot.fakegithub.faults import Kind
from tests.bot.fakegithub.server import FakeGitHub

from tileport_skill.errors import MachineryError

REFERENCE = "src/tilegym/ops/cutile/scale.py"


@pytest.fixture
def room(fake: FakeGitHub, tmp_path: Path) -> CodeRoom:
    return CodeRoom(fake, tmp_path)


def change(room: CodeRoom, times: int = 1) -> str:
    room.fake.world.advance(60)
    return room.push({REFERENCE: str(FILES[REFERENCE]) + f"# {room.fake.world.next_id()}\n" * times})


def test_a_port_that_differs_gets_one_issue_with_its_label_and_it_closes_when_it_is_equal(room: CodeRoom) -> None:
    room.judge.says["scale"] = different("scale")
    assert change(room) == "scale: differs, #1 opened"
    issue = room.repository.issues[1]
    assert (issue.state, issue.labels, issue.user.login) == ("open", ["port: scale"], "tileport[bot]")
    assert "mulf against addf" in (issue.body or "")
    assert change(room) == "scale: differs, #1 brought up to date"
    room.judge.says["scale"] = equal("scale")
    assert change(room) == "scale: equal again, #1 closed"
    assert issue.state == "closed"
    assert "Equal again" in (issue.body or "")
    assert change(room) == "scale: equal"
    room.judge.says["scale"] = different("scale")
    assert change(room) == "scale: differs, #1 brought up to date"
    assert (issue.state, len(room.repository.issues)) == ("open", 1)


@pytest.mark.parametrize(
    ("path", "judged"),
    [
        (REFERENCE, True),
        (f"{RUST}/scale_kernel/kernel.rs", True),
        ("pyproject.toml", True),
        (f"{RUST}/cutile_kernels/Cargo.lock", True),
        (f"{RUST}/cutile_kernels/src/ffi_util.rs", True),
        ("docs/scale.md", False),
        ("src/tilegym/ops/cutile/rms_norm.py", False),
    ],
)
def test_what_a_push_must_change_for_a_port_to_be_verified(room: CodeRoom, path: str, judged: bool) -> None:
    room.push({path: str(FILES.get(path, "")) + "\n"})
    assert [operator for operator, _ in room.judge.asked] == (["scale"] if judged else [])


def test_a_configuration_the_reference_gained_is_told_and_an_old_lack_is_not(room: CodeRoom) -> None:
    room.judge.before = room.judge.says["scale"] = equal("scale", untried=("tile 64",))
    assert change(room) == "scale: equal"
    room.judge.says["scale"] = equal("scale", ("tile 64", "tile 128"))
    assert change(room) == "scale: differs, #1 opened"
    body = room.repository.issues[1].body or ""
    assert "tile 128" in body
    assert "tile 64" not in body
    room.judge.before = room.judge.says["scale"]
    assert change(room) == "scale: differs, #1 brought up to date"
    room.judge.says["scale"] = equal("scale", ("tile 64",))
    assert change(room) == "scale: equal again, #1 closed"


def test_a_port_that_differed_before_the_push_is_no_news(room: CodeRoom) -> None:
    room.judge.before = room.judge.says["scale"] = different("scale")
    assert change(room) == "scale: differs, as it did before"
    assert room.repository.issues == {}


def test_our_own_failure_changes_no_issue(room: CodeRoom) -> None:
    room.judge.says["scale"] = different("scale")
    change(room)
    room.judge.says["scale"] = MachineryError("Docker does not answer.")
    assert change(room) == "scale: not judged: Docker does not answer."
    assert room.repository.issues[1].state == "open"


def test_a_reference_that_is_gone_is_a_difference(room: CodeRoom) -> None:
    assert room.push({REFERENCE: None, f"{RUST}/scale.py": "# kept\n"}) == "scale: differs, #1 opened"
    assert "No operator is named" in (room.repository.issues[1].body or "")


def test_an_issue_whose_answer_was_lost_is_opened_once(room: CodeRoom, fake: FakeGitHub) -> None:
    room.judge.says["scale"] = different("scale")
    fake.faults.add(Kind.LOST_AFTER, "POST", f"/repos/{NAME}/issues")
    assert change(room) == "scale: differs, #1 opened"
    assert len(room.repository.issues) == 1


def test_anybody_elses_issue_with_our_marker_is_not_ours(room: CodeRoom, fake: FakeGitHub) -> None:
    room.judge.says["scale"] = different("scale")
    marker = '<!-- tileport:drift {"operator": "scale", "lacking": []} -->\nmine'
    fake.open_issue(room.repository, "mallory", "Drift", marker)
    assert change(room) == "scale: differs, #2 opened"
    assert room.repository.issues[1].body == marker


def test_other_branches_tags_and_deletions_are_ignored(room: CodeRoom, fake: FakeGitHub) -> None:
    before = fake.head(room.repository, "main") or ""
    payload = fake.payloads.push(room.repository, "main", before, fake.user("alice"))
    assert "is not the default branch" in room.handle("push", {**payload, "ref": "refs/tags/v1"})
    assert "is not the default branch" in room.handle("push", {**payload, "ref": "refs/heads/other"})
    assert "was deleted" in room.handle("push", {**payload, "after": "0" * 40})
