"""A pull request's new code becomes one check run and one comment, whoever opened it; its code is data here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.bot.code_room import FILES, NAME, RUST, CodeRoom, different, equal
from tests.bot.fakegithub.contract import Contract
from tests.bot.fakegithub.faults import Kind
from tests.bot.fakegithub.server import FakeGitHub
from typer.testing import CliRunner

from tileport_bot import __main__ as bot
from tileport_bot.review_records import Mark, PortReview, Review, read_review, review_json
from tileport_bot.review_words import check_run, comment, conclusion
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.lint.records import Finding

KERNEL = f"{RUST}/scale_kernel/kernel.rs"


@pytest.fixture
def room(fake: FakeGitHub, tmp_path: Path) -> CodeRoom:
    return CodeRoom(fake, tmp_path)


def test_a_forks_pull_request_gets_a_check_run_with_annotations_and_one_comment(room: CodeRoom) -> None:
    pull = room.pull({KERNEL: "// of the fork\n#[cutile::entry()]\nfn scale() {}\n", f"{RUST}/scale.py": "import os\n"})
    mark = Mark(path=KERNEL, line=3, message="1 compiled kernel differs")
    room.judge.says["scale"] = PortReview(
        operator="scale", gates=different("scale").gates, ir_rows=different("scale").ir_rows, marks=(mark,)
    )
    assert room.opened(pull) == f"reviewed {NAME}#{pull.number}: failure"
    assert room.judge.asked == [("scale", "// of the fork\n#[cutile::entry()]\nfn scale() {}\n")]
    (run,) = room.repository.check_runs.values()
    assert pull.pull is not None
    assert (run.head_sha, run.status, run.conclusion) == (pull.pull.head_sha, "completed", "failure")
    places = {(a["path"], a["start_line"]) for a in run.annotations}
    assert (KERNEL, 3) in places
    assert any(path == f"{RUST}/scale.py" for path, _ in places)
    (body,) = room.comments(pull.number)
    assert "mulf against addf" in body
    assert "Something does not hold" in body


def test_the_next_push_edits_the_comment_and_checks_the_new_commit(room: CodeRoom, fake: FakeGitHub) -> None:
    pull = room.pull({KERNEL: "// first\n"})
    room.judge.says["scale"] = different("scale")
    room.opened(pull)
    fork = fake.world.repositories["carol/tilegym"]
    second = fake.push_files(fork, "idea", {KERNEL: "// second\n"})
    room.judge.says["scale"] = equal("scale")
    room.opened(pull, "reopened")
    (body,) = room.comments(pull.number)
    assert second[:12] in body
    assert [run.head_sha == second for run in room.repository.check_runs.values()] == [False, True]


def test_the_same_event_again_leaves_one_comment(room: CodeRoom) -> None:
    pull = room.pull({KERNEL: "// first\n"})
    for _ in range(3):
        room.opened(pull)
    assert len(room.comments(pull.number)) == 1


def test_a_pull_request_that_touches_no_kernel_is_left_alone(room: CodeRoom) -> None:
    pull = room.pull(
        {
            "README.md": "words\n",
            "src/tilegym/ops/cutile/rms_norm.py": FILES["src/tilegym/ops/cutile/rms_norm.py"] + "\n",
        }
    )
    assert "touches no cuTile Rust kernel" in room.opened(pull)
    assert (room.judge.asked, room.comments(pull.number), room.repository.check_runs) == ([], [], {})


@pytest.mark.parametrize(
    "files",
    [
        {f"{RUST}/scale_kernel/ffi.rs": "// l\n"},
        {f"{RUST}/scale.py": "def scale(x): return x\n"},
        {"src/tilegym/ops/cutile/scale.py": FILES["src/tilegym/ops/cutile/scale.py"] + "# changed\n"},
    ],
)
def test_a_port_is_touched_by_its_files_and_by_its_reference(room: CodeRoom, files: dict[str, Any]) -> None:
    room.opened(room.pull(files))
    assert [operator for operator, _ in room.judge.asked] == ["scale"]


def test_a_renamed_port_is_looked_at_under_its_new_name(room: CodeRoom) -> None:
    moved = {f"{RUST}/scale_kernel/{name}": None for name in ("kernel.rs", "ffi.rs")}
    moved |= {
        f"{RUST}/rms_norm_kernel/{name}": FILES[f"{RUST}/scale_kernel/{name}"] for name in ("kernel.rs", "ffi.rs")
    }
    pull = room.pull(moved)
    room.opened(pull)
    assert [operator for operator, _ in room.judge.asked] == ["rms_norm"]


def test_a_null_body_a_deleted_author_and_a_branch_of_odd_name_do_no_harm(room: CodeRoom, fake: FakeGitHub) -> None:
    pull = room.pull({KERNEL: "// x\n"}, branch=";$(id)ü")
    payload = fake.payloads.pull_request(room.repository, pull, fake.user("carol"), action="opened")
    payload["pull_request"]["user"] = None
    payload["pull_request"]["head"]["repo"] = None
    assert payload["pull_request"]["body"] is None
    assert room.handle("pull_request", payload) == f"reviewed {NAME}#{pull.number}: success"


def test_a_link_in_the_tree_is_refused_and_nothing_is_read_through_it(room: CodeRoom, fake: FakeGitHub) -> None:
    from tests.bot.fakegithub.git_store import git

    head = room.repository.git
    blob = git(head, "hash-object", "-w", "--stdin", text="/etc/passwd").strip()
    git(head, "update-index", "--add", "--cacheinfo", f"120000,{blob},{KERNEL}")
    tree = git(head, "write-tree").strip()
    commit = git(head, "commit-tree", tree, "-p", "main", "-m", "link").strip()
    git(head, "update-ref", "refs/heads/link", commit)
    pull = fake.open_pull(room.repository, "carol", branch="link")
    assert room.opened(pull).endswith("failure")
    assert room.judge.asked == []
    assert "symbolic link" in room.comments(pull.number)[0]


def test_our_own_ports_are_not_reviewed_again(room: CodeRoom, fake: FakeGitHub) -> None:
    fake.push_files(room.repository, "port/scale", {KERNEL: "// x\n"}, base="main")
    pull = fake.open_pull(room.repository, "tileport[bot]", branch="port/scale")
    assert room.opened(pull) == "ignored: our own port was judged before it was published"


def test_a_commit_that_came_meanwhile_keeps_the_comment_for_its_own_review(room: CodeRoom, fake: FakeGitHub) -> None:
    pull = room.pull({KERNEL: "// first\n"})
    fork = fake.world.repositories["carol/tilegym"]
    room.judge.meanwhile = lambda: fake.push_files(fork, "idea", {KERNEL: "// second\n"})
    assert "has come since" in room.opened(pull)
    assert room.comments(pull.number) == []
    assert len(room.repository.check_runs) == 1


def test_our_own_failure_is_neutral_and_says_whose_it_is(room: CodeRoom) -> None:
    room.judge.says["scale"] = MachineryError("Docker does not answer.")
    pull = room.pull({KERNEL: "// x\n"})
    assert room.opened(pull).endswith("neutral")
    assert "Our own machinery failed" in room.comments(pull.number)[0]


@pytest.mark.parametrize("bad", [b"\xff\xfe\x00", b"def (:\n", b"x = 1\0\n"])
def test_a_reference_that_cannot_be_read_is_the_pull_requests(room: CodeRoom, bad: bytes) -> None:
    pull = room.pull({"src/tilegym/ops/cutile/scale.py": bad})
    assert room.opened(pull).endswith("failure")
    assert "cannot be read" in room.comments(pull.number)[0]


def test_without_the_right_to_check_runs_the_comment_is_there_all_the_same(room: CodeRoom, fake: FakeGitHub) -> None:
    fake.faults.add(Kind.FORBIDDEN, "POST", ".*/check-runs")
    pull = room.pull({KERNEL: "// x\n"})
    room.opened(pull)
    assert len(room.comments(pull.number)) == 1
    assert any("No check run could be written" in line for line in room.said)


def test_a_comment_whose_answer_was_lost_is_found_and_not_written_twice(room: CodeRoom, fake: FakeGitHub) -> None:
    fake.faults.add(Kind.BAD_GATEWAY_AFTER, "POST", ".*/comments")
    pull = room.pull({KERNEL: "// x\n"})
    room.opened(pull)
    assert len(room.comments(pull.number)) == 1


def test_more_than_fifty_annotations_come_in_parts(room: CodeRoom) -> None:
    marks = tuple(Mark(path=KERNEL, line=line, message="m") for line in range(1, 121))
    room.judge.says["scale"] = PortReview(operator="scale", gates=different("scale").gates, marks=marks)
    room.opened(room.pull({KERNEL: "// x\n"}))
    (run,) = room.repository.check_runs.values()
    assert len([a for a in run.annotations if a["path"] == KERNEL and a["title"] == "scale"]) == 120


def test_a_dry_run_keeps_the_check_run_and_the_comment_as_files(
    room: CodeRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = room.pull({KERNEL: "// x\n"})
    payload = room.fake.payloads.pull_request(room.repository, pull, room.fake.user("carol"), action="opened")
    run = [
        "git",
        "-C",
        room.checkout,
        "fetch",
        "-q",
        "origin",
        f"+refs/pull/{pull.number}/head:refs/pull/{pull.number}/head",
    ]
    subprocess.run(run, check=True)
    (tmp_path / "event.json").write_text(json.dumps(payload))
    monkeypatch.setattr(bot, "judge_here", lambda progress, stop: room.judge)
    arguments = ["handle-event", str(tmp_path / "event.json"), "--event-name", "pull_request", "--dry-run"]
    arguments += ["--repo", str(room.checkout), "--out", str(tmp_path / "out"), "--engine", "none"]
    result = CliRunner().invoke(bot.app, arguments)
    assert result.exit_code == 0, result.output
    assert "check run tileport at" in result.output
    assert "Nothing was found against it" in (tmp_path / "out" / "comment-1.md").read_text()
    assert room.comments(pull.number) == []


def test_hostile_text_stays_text_and_a_huge_review_fits(contract: Contract) -> None:
    evil = "@everyone </details> <img src=x> | #12 \u202e"
    finding = Finding(rule="rule", severity="error", path="a|b`.rs", line=1, message=evil)
    rows = different("scale").ir_rows * 400
    ports = tuple(
        PortReview(operator=f"op{i}", findings=(finding,) * 200, ir_rows=rows, refused=evil * 50) for i in range(12)
    )
    review = Review(head="a" * 40, ports=ports)
    body = comment(review)
    assert len(body) <= 65_536
    assert "<img" not in body
    assert "@everyone" not in body
    said = check_run(review)
    assert len(said.summary) <= 65_536
    assert conclusion(review) == "failure"


def test_the_document_between_two_jobs_is_validated() -> None:
    review = Review(head="a" * 40, ports=(different("scale"), equal("rms_norm")))
    assert read_review(review_json(review)) == review
    for wrong in (b"", b"[]", b'{"head": 1}', review_json(review).replace(b'"tile-ir"', b'"evil"')):
        with pytest.raises(RequestError, match="no review"):
            read_review(wrong)
