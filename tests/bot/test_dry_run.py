"""A dry run keeps every write as a file, remembers what it kept, and the command says where it lies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.bot.conftest import EVENTS, ScriptedDriver, rejected, unproved
from typer.testing import CliRunner, Result

from tileport_bot.__main__ import app
from tileport_bot.driver import Finished
from tileport_bot.github import Comment, DryRunGitHub, NewPullRequest
from tileport_bot.permissions import Permission
from tileport_driver.records import MachineryFailed

NEW = NewPullRequest(branch="port/x", base="main", title="Port x", body="body", draft=True)


def github(folder: Path) -> DryRunGitHub:
    return DryRunGitHub(folder, permission=Permission.WRITE, say=lambda line: None)


def test_each_write_is_one_file_and_what_it_leaves_is_markdown(tmp_path: Path) -> None:
    dry = github(tmp_path)
    id = dry.create_comment("a/b", 1, "one")
    dry.edit_comment("a/b", id, "two")
    dry.create_pull_request("a/b", NEW)
    dry.edit_pull_request("a/b", 1, "Port x", "new body")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "001-create-comment.json",
        "002-edit-comment.json",
        "003-create-pull-request.json",
        "004-edit-pull-request.json",
        "comment-1.md",
        "pull-request-1.md",
    ]
    assert (tmp_path / "comment-1.md").read_text() == "two"
    assert (tmp_path / "pull-request-1.md").read_text() == (
        "# Port x\n\n*Draft pull request: `port/x` into `main`*\n\nnew body"
    )
    write = json.loads((tmp_path / "001-create-comment.json").read_text())
    assert write == {"write": "create comment", "repository": "a/b", "issue": 1, "id": 1, "body": "one"}


def test_a_second_run_finds_what_the_first_wrote(tmp_path: Path) -> None:
    first = github(tmp_path)
    first.create_comment("a/b", 1, "one")
    first.create_comment("a/b", 2, "of another issue")
    first.create_pull_request("a/b", NEW)
    second = github(tmp_path)
    assert second.own_comments("a/b", 1) == (Comment(1, "one"),)
    assert second.own_comments("a/c", 1) == ()
    assert second.find_pull_request("a/b", "port/x") == first.find_pull_request("a/b", "port/x")
    assert second.find_pull_request("a/b", "port/y") is None
    assert second.create_comment("a/b", 1, "three") == 3


def test_a_reaction_is_given_once(tmp_path: Path) -> None:
    dry = github(tmp_path)
    for comment in (None, None, 5, 5):
        dry.react("a/b", 1, comment)
    assert len(list(tmp_path.glob("*.json"))) == 2


def run(
    checkout: Path, out: Path, *ends: Finished | BaseException, event: str = "issues.labeled", more: str = ""
) -> Result:
    arguments = ["handle-event", str(EVENTS / f"{event}.json"), "--event-name", event.partition(".")[0]]
    arguments += ["--repo", str(checkout), "--dry-run", "--out", str(out), *more.split()]
    return CliRunner().invoke(app, arguments, obj=ScriptedDriver(list(ends)))


def test_the_command_prints_each_write_and_where_they_lie(checkout: Path, tmp_path: Path) -> None:
    result = run(checkout, tmp_path / "out", unproved())
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[:2] == [
        "[dry run] react with 👀 on example/TileGym#12",
        "[dry run] comment on example/TileGym#12: Porting `silu_and_mul`: authorised",
    ]
    assert "[dry run] open a draft pull request from port/silu_and_mul: Port silu_and_mul to cuTile Rust" in lines
    assert lines[-2:] == ["unproved: silu_and_mul", f"What GitHub would show lies in {tmp_path / 'out'}/"]


@pytest.mark.parametrize(
    ("event", "more", "code", "said"),
    [
        ("issues.labeled", "--permission read", 0, "ignored: alice may not write"),
        ("issues.labeled.by-bot", "", 0, "ignored: helpful[bot] is a bot"),
        ("no-such-event", "", 12, "cannot be read as JSON"),
    ],
)
def test_the_command_ends_as_it_should(
    checkout: Path, tmp_path: Path, event: str, more: str, code: int, said: str
) -> None:
    result = run(checkout, tmp_path / "out", event=event, more=more)
    assert result.exit_code == code
    assert said in result.output


def test_a_rejected_port_is_an_answer_and_our_own_failure_an_error(checkout: Path, tmp_path: Path) -> None:
    assert run(checkout, tmp_path / "a", rejected(tmp_path / "attempt")).exit_code == 0
    failed = Finished(outcome=MachineryFailed(reason="Docker does not answer."))
    assert run(checkout, tmp_path / "b", failed).exit_code == 13


@pytest.mark.parametrize(
    ("more", "said"),
    [((), "Set GITHUB_TOKEN"), (("--permission", "write"), "--permission is for --dry-run only")],
)
def test_without_a_token_or_a_dry_run_nothing_begins(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], said: str
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    path = str(EVENTS / "issues.labeled.json")
    arguments = ["handle-event", path, "--event-name", "issues", "--repo", str(checkout), *more]
    result = CliRunner().invoke(app, arguments, obj=ScriptedDriver([]))
    assert result.exit_code == 12
    assert said in result.output
