"""The adapter to GitHub against a GitHub that remembers: real refs, GitHub's own refusals and failures."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.bot.fakegithub.faults import Kind
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Repository

from tileport_bot.github import NewPullRequest
from tileport_bot.live_github import LiveGitHub
from tileport_bot.permissions import Permission
from tileport_skill.errors import MachineryError

REPOSITORY = "example/TileGym"


@pytest.fixture
def repository(fake: FakeGitHub) -> Repository:
    return fake.add_repository(REPOSITORY, roles={"alice": "write", "mona": "maintain", "tom": "triage"})


@pytest.fixture
def live(fake: FakeGitHub, repository: Repository) -> LiveGitHub:
    token = fake.workflow_token(contents="write", issues="write", pull_requests="write")
    return LiveGitHub(token, login="github-actions[bot]", api=fake.address, web=fake.address, write_pause=0)


def commit(folder: Path, name: str) -> str:
    (folder / name).write_text("x\n", encoding="utf-8")
    run = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*run, "add", "-A"], check=True)
    subprocess.run([*run, "commit", "-qm", name], check=True)
    return subprocess.run([*run, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize(
    ("login", "permission"),
    [
        ("alice", Permission.WRITE),
        ("mona", Permission.WRITE),
        ("tom", Permission.READ),
        ("stranger", Permission.READ),
        ("example", Permission.ADMIN),
    ],
)
def test_who_may_what_is_asked_of_github(
    fake: FakeGitHub, live: LiveGitHub, login: str, permission: Permission
) -> None:
    fake.user(login)
    assert live.permission(REPOSITORY, login) is permission


def test_a_comment_is_written_edited_and_found_among_a_hundred_others(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it", None)
    for index in range(100):
        fake.comment(repository, issue, "bob", f"comment {index}")
    id = live.create_comment(REPOSITORY, issue.number, "ours")
    live.edit_comment(REPOSITORY, id, "ours, edited")
    assert [(c.id, c.body) for c in live.own_comments(REPOSITORY, issue.number)] == [(id, "ours, edited")]
    pages = [request.query for request in fake.requests if request.path.endswith("/comments") and request.query]
    assert any("page=2" in query for query in pages)


def test_a_reaction_given_twice_is_one(fake: FakeGitHub, repository: Repository, live: LiveGitHub) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    comment = fake.comment(repository, issue, "alice", "/port x")
    for _ in range(2):
        live.react(REPOSITORY, issue.number, None)
        live.react(REPOSITORY, issue.number, comment.id)
    assert [reaction.content for reaction in (*issue.reactions, *comment.reactions)] == ["eyes", "eyes"]


def test_a_pushed_branch_becomes_a_pull_request_whose_head_is_its_commit(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    sha = commit(checkout, "port.rs")
    live.push_branch(REPOSITORY, checkout, "port/x", sha)
    assert live.find_pull_request(REPOSITORY, "port/x") is None
    new = NewPullRequest(branch="port/x", base="main", title="Port x", body="b", draft=True)
    made = live.create_pull_request(REPOSITORY, new)
    assert live.find_pull_request(REPOSITORY, "port/x") == made
    pull = repository.issues[made.number].pull
    assert pull is not None
    assert (pull.head_sha, pull.draft) == (sha, True)
    live.edit_pull_request(REPOSITORY, made.number, "Port x again", "c")
    assert repository.issues[made.number].title == "Port x again"
    with pytest.raises(MachineryError, match="422 to create_pull_request"):
        live.create_pull_request(REPOSITORY, new)


def test_a_branch_with_other_commits_is_not_overwritten(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    theirs = fake.push_files(repository, "port/x", {"theirs": "x"}, base="main")
    with pytest.raises(MachineryError, match="git could not push port/x"):
        live.push_branch(REPOSITORY, checkout, "port/x", commit(checkout, "ours"))
    assert fake.head(repository, "port/x") == theirs


def test_a_token_that_may_not_write_workflows_is_refused_by_git(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    (checkout / ".github/workflows").mkdir(parents=True)
    sha = commit(checkout, ".github/workflows/evil.yml")
    with pytest.raises(MachineryError, match="without `workflows` permission"):
        live.push_branch(REPOSITORY, checkout, "port/x", sha)


@pytest.mark.parametrize("kind", [Kind.BAD_GATEWAY_AFTER, Kind.LOST_AFTER])
def test_a_write_whose_answer_was_lost_is_there_once(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, kind: Kind
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    fake.faults.add(kind, "POST", ".*/comments")
    with pytest.raises(MachineryError):
        live.create_comment(REPOSITORY, issue.number, "ours")
    assert [comment.body for comment in repository.comments.values()] == ["ours"]


def test_a_dead_token_is_a_failure_that_says_so(fake: FakeGitHub, repository: Repository) -> None:
    token = fake.token("tileport[bot]", permissions={"issues": "write"}, seconds=3600)
    live = LiveGitHub(token, login="tileport[bot]", api=fake.address, web=fake.address, write_pause=0)
    issue = fake.open_issue(repository, "bob", "Port it")
    live.create_comment(REPOSITORY, issue.number, "in time")
    fake.world.advance(3601)
    with pytest.raises(MachineryError, match="401 to create_comment: Bad credentials"):
        live.create_comment(REPOSITORY, issue.number, "too late")
