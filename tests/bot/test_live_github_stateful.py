"""The adapter to GitHub against a GitHub that remembers: real refs, GitHub's own refusals and failures."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from tests.bot.fakegithub.faults import Kind
from tests.bot.fakegithub.git_store import git as fake_git
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Repository

from tileport_bot.github import BaseState, Gone, Later, NewPullRequest, Refusal
from tileport_bot.live_github import LiveGitHub
from tileport_bot.patience import Patience
from tileport_bot.permissions import Permission, Permissions
from tileport_bot.writes import once
from tileport_skill.errors import MachineryError

REPOSITORY = "example/TileGym"


@pytest.fixture
def repository(fake: FakeGitHub) -> Repository:
    return fake.add_repository(REPOSITORY, roles={"alice": "write", "mona": "maintain", "tom": "triage"})


@pytest.fixture
def live(fake: FakeGitHub, repository: Repository) -> LiveGitHub:
    token = fake.workflow_token(contents="write", issues="write", pull_requests="write")
    return LiveGitHub(token, login="github-actions[bot]", api=fake.address, server=fake.address, pace=0)


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def waiting(fake: FakeGitHub, repository: Repository, waited: list[float]) -> LiveGitHub:
    """One that waits by moving the fake's clock on, and says how long."""

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        fake.world.advance(seconds)

    patience = Patience(sleep=sleep, now=fake.world.now)
    token = fake.workflow_token(contents="write", issues="write", pull_requests="write")
    return LiveGitHub(token, api=fake.address, server=fake.address, patience=patience, pace=0)


NEW = NewPullRequest(branch="port/x", base="main", title="Port x", body="b", draft=True)


def commit(folder: Path, name: str, *, mail: str = "t@example.org", message: str = "x", parent: str = "HEAD") -> str:
    """One with a file of that name, on no branch."""
    (folder / name).write_text("x\n", encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", f"user.email={mail}"]

    def run(*arguments: str) -> str:
        return subprocess.run([*git, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    run("add", "-A")
    made = run("commit-tree", run("write-tree"), "-p", parent, "-m", message)
    run("reset", "--quiet", "--hard")
    return made


def our_commit(folder: Path, name: str) -> str:
    return commit(folder, name, mail="tileport@users.noreply.invalid", message=f"Port x\n\nTileport-Attempt: {name}")


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
    assert live.create_pull_request(REPOSITORY, new).number == made.number  # there is one already: that one


def test_a_branch_that_holds_a_persons_work_is_left_and_the_port_goes_beside_it(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    theirs = fake.push_files(repository, "port/x", {"theirs": "x"}, base="main")
    sha = commit(checkout, "ours")
    assert live.push_branch(REPOSITORY, checkout, "port/x", sha) == "port/x-2"
    assert live.push_branch(REPOSITORY, checkout, "port/x", sha) == "port/x-2"
    assert (fake.head(repository, "port/x"), fake.head(repository, "port/x-2")) == (theirs, sha)


def test_a_branch_of_ours_makes_way_for_the_next_attempt_unless_somebody_changed_it(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    first, second = (our_commit(checkout, name) for name in ("first", "second"))
    assert live.push_branch(REPOSITORY, checkout, "port/x", first) == "port/x"
    assert live.push_branch(REPOSITORY, checkout, "port/x", second) == "port/x"
    assert fake.head(repository, "port/x") == second
    amended = commit(checkout, "amended", message="Port x\n\nTileport-Attempt: x-1", parent=second)
    fake_git(repository.git, "fetch", str(checkout), f"+{amended}:refs/heads/port/x")
    assert live.push_branch(REPOSITORY, checkout, "port/x", our_commit(checkout, "third")) == "port/x-2"
    assert fake.head(repository, "port/x") == amended


def test_a_branch_that_was_pushed_and_not_answered_is_found(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    sha = our_commit(checkout, "port.rs")
    fake.faults.add(Kind.LOST_AFTER, "GIT", ".*receive-pack")
    with pytest.raises(MachineryError):
        live.push_branch(REPOSITORY, checkout, "port/x", sha)
    assert live.push_branch(REPOSITORY, checkout, "port/x", sha) == "port/x"


def test_the_token_is_in_no_argument_while_git_pushes(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    sha = our_commit(checkout, "port.rs")
    hook = repository.git / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\ncat /proc/[0-9]*/cmdline | tr '\\0' ' ' > seen\n")
    live.push_branch(REPOSITORY, checkout, "port/x", sha)
    seen = (repository.git / "seen").read_text(errors="replace")
    (token,) = fake.world.tokens
    secret = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    assert "refs/heads/port/x" in seen
    assert token not in seen
    assert secret not in seen


def test_where_the_base_stands_is_told(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    fake.push_files(repository, "main", {"reference.py": "1", "shared": "a\n"}, "begin")
    checkout = fake.clone(repository, tmp_path / "clone")
    sha = our_commit(checkout, "shared")

    def state() -> BaseState:
        return live.base_state(REPOSITORY, checkout, "main", sha, "reference.py")

    assert state() == BaseState(moved=False)
    fake.push_files(repository, "main", {"elsewhere": "x"}, "unrelated")
    assert state() == BaseState(moved=True)
    fake.push_files(repository, "main", {"shared": "b\n"}, "conflicts")
    assert state() == BaseState(moved=True, conflicts=("shared",))
    fake.push_files(repository, "main", {"reference.py": "2"}, "another reference")
    assert state() == BaseState(moved=True, conflicts=("shared",), reference_changed=True)


def test_a_head_that_is_not_visible_yet_is_waited_for(
    fake: FakeGitHub, repository: Repository, waiting: LiveGitHub, waited: list[float], tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    waiting.push_branch(REPOSITORY, checkout, "port/x", our_commit(checkout, "port.rs"))
    fake.faults.hidden_heads = 3
    made = waiting.create_pull_request(REPOSITORY, NEW)
    assert repository.issues[made.number].pull is not None
    assert waited == [1, 2, 4]


def test_a_token_that_may_not_write_workflows_is_refused_by_git(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, tmp_path: Path
) -> None:
    checkout = fake.clone(repository, tmp_path / "clone")
    (checkout / ".github/workflows").mkdir(parents=True)
    sha = commit(checkout, ".github/workflows/evil.yml")
    with pytest.raises(MachineryError, match="without `workflows` permission"):
        live.push_branch(REPOSITORY, checkout, "port/x", sha)


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        (Kind.PRIMARY_LIMIT_403, 100),
        (Kind.PRIMARY_LIMIT_429, 100),
        (Kind.SECONDARY_LIMIT_403, 7),
        (Kind.SECONDARY_LIMIT_429, 7),
        (Kind.SECONDARY_LIMIT_SILENT, 60),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_rate_limit_is_waited_for_as_its_headers_say(
    fake: FakeGitHub,
    repository: Repository,
    waiting: LiveGitHub,
    waited: list[float],
    kind: Kind,
    seconds: float,
    method: str,
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    fake.faults.add(kind, method, ".*/comments", seconds=seconds)
    waiting.create_comment(REPOSITORY, issue.number, "ours")
    assert len(waiting.own_comments(REPOSITORY, issue.number)) == 1
    assert len(waited) == 1
    assert seconds <= waited[0] <= seconds + 3
    assert fake.limits.disobeyed == []


def test_a_rate_limit_that_is_too_long_to_wait_for_says_when(
    fake: FakeGitHub, repository: Repository, waiting: LiveGitHub, waited: list[float]
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    fake.faults.add(Kind.PRIMARY_LIMIT_403, seconds=3000)
    with pytest.raises(Later) as later:
        waiting.create_comment(REPOSITORY, issue.number, "ours")
    assert 3000 <= later.value.seconds <= 3003
    assert waited == []


def test_as_many_writes_as_a_batch_makes_never_ask_before_they_may(
    fake: FakeGitHub, repository: Repository, waiting: LiveGitHub
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    fake.limits.writes_per_minute = 80
    for number in range(170):
        waiting.create_comment(REPOSITORY, issue.number, f"comment {number}")
    assert len(repository.comments) == 170
    assert fake.limits.disobeyed == []


def test_a_plain_403_is_a_refusal_and_not_waited_for(
    fake: FakeGitHub, repository: Repository, waiting: LiveGitHub, waited: list[float]
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    fake.faults.add(Kind.FORBIDDEN)
    with pytest.raises(Refusal, match="Resource not accessible"):
        waiting.create_comment(REPOSITORY, issue.number, "ours")
    assert waited == []


@pytest.mark.parametrize(
    "kind", [Kind.BAD_GATEWAY_AFTER, Kind.LOST_AFTER, Kind.TRUNCATED, Kind.BAD_GATEWAY_BEFORE, Kind.LOST_BEFORE]
)
def test_a_comment_is_made_once_whatever_becomes_of_its_answer(
    fake: FakeGitHub, repository: Repository, waiting: LiveGitHub, kind: Kind
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    fake.faults.add(kind, "POST", ".*/comments")

    def find() -> int | None:
        return next((comment.id for comment in waiting.own_comments(REPOSITORY, issue.number)), None)

    once(find, lambda: waiting.create_comment(REPOSITORY, issue.number, "ours"), sleep=lambda seconds: None)
    assert [comment.body for comment in repository.comments.values()] == ["ours"]


@pytest.mark.parametrize(
    "kind", [Kind.BAD_GATEWAY_BEFORE, Kind.LOST_BEFORE, Kind.UNAVAILABLE, Kind.TRUNCATED, Kind.NOT_JSON]
)
def test_reads_and_edits_are_tried_again(
    fake: FakeGitHub, repository: Repository, waiting: LiveGitHub, kind: Kind
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    id = waiting.create_comment(REPOSITORY, issue.number, "ours")
    fake.faults.add(kind, "(GET|PATCH)", ".*/comments/.*", times=2)
    waiting.edit_comment(REPOSITORY, id, "edited")
    fake.faults.add(kind, "(GET|PATCH)", ".*/comments/.*", times=2)
    assert waiting.read_comment(REPOSITORY, id) == "edited"


def test_a_renamed_repository_is_written_to_under_its_new_name(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub
) -> None:
    issue = fake.open_issue(repository, "bob", "Port it")
    fake.rename(repository, "NewGym")
    id = live.create_comment(REPOSITORY, issue.number, "ours")
    live.edit_comment(REPOSITORY, id, "edited")
    assert [comment.body for comment in live.own_comments(REPOSITORY, issue.number)] == ["edited"]
    assert live.permission(REPOSITORY, "alice") is Permission.WRITE


def test_issues_that_are_gone_or_locked_are_refusals_of_their_own(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub
) -> None:
    deleted, moved = (fake.open_issue(repository, "bob", name) for name in ("deleted", "moved"))
    fake.delete_issue(deleted)
    with pytest.raises(Gone, match="410"):
        live.create_comment(REPOSITORY, deleted.number, "ours")
    fake.transfer(repository, moved, fake.add_repository("example/Elsewhere"))
    with pytest.raises(Gone, match="it was moved"):
        live.own_comments(REPOSITORY, moved.number)


def test_what_is_labelled_is_found_with_who_put_the_label_on(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub
) -> None:
    for number in range(3):
        issue = fake.open_issue(repository, "bob", f"issue {number}")
        if number:
            fake.label(repository, issue, "port: x", "tom")
            fake.unlabel(repository, issue, "port: x", "tom")
            fake.label(repository, issue, "port: x", "alice" if number == 1 else "helpful[bot]")
    assert [(issue.number, issue.labels) for issue in live.open_issues(REPOSITORY)] == [
        (3, ("port: x",)),
        (2, ("port: x",)),
    ]
    human, bot = live.label_set(REPOSITORY, 2, "port: x"), live.label_set(REPOSITORY, 3, "port: x")
    assert human is not None
    assert (human.login, human.is_bot) == ("alice", False)
    assert bot is not None
    assert bot.is_bot
    assert live.label_set(REPOSITORY, 1, "port: x") is None
    assert live.default_branch(REPOSITORY) == "main"


def test_a_permission_is_asked_once_a_minute(fake: FakeGitHub, repository: Repository, live: LiveGitHub) -> None:
    for _ in range(5):
        live.permission(REPOSITORY, "alice")
    assert len([line for line in fake.asked() if line.endswith("/collaborators/alice/permission")]) == 1
    now, asked = [0.0], list[str]()

    def ask(repository: str, login: str) -> Permission:
        asked.append(login)
        return Permission.READ if len(asked) > 1 else Permission.WRITE

    permissions = Permissions(ask, now=lambda: now[0])
    answers = []
    for now[0] in (0.0, 59.0, 61.0):
        answers.append(permissions.of("a/b", "alice"))
    assert answers == [Permission.WRITE, Permission.WRITE, Permission.READ]


def test_no_key_we_hold_leaves_in_any_text(
    fake: FakeGitHub, repository: Repository, live: LiveGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-without-any-pattern")
    issue = fake.open_issue(repository, "bob", "Port it")
    (token,) = fake.world.tokens
    encoded = b"a-key-without-any-pattern".hex()
    live.create_comment(REPOSITORY, issue.number, f"log: {token} and a-key-without-any-pattern and {encoded}")
    assert [comment.body for comment in repository.comments.values()] == ["log: [masked] and [masked] and [masked]"]
