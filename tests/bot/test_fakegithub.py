"""The stand-in for GitHub is strict, and what it says is GitHub's by GitHub's own descriptions."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import httpx2
import jwt
import pytest
from tests.bot.fakegithub.contract import Contract
from tests.bot.fakegithub.faults import Kind
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Issue, Repository
from tests.bot.fakegithub.webhooks import delivery_headers, signature

NAME = "example/TileGym"
PNG = b"\x89PNG\r\n\x1a\n\0\0"


@pytest.fixture
def repository(fake: FakeGitHub) -> Repository:
    return fake.add_repository(NAME, roles={"alice": "write"})


@pytest.fixture
def issue(fake: FakeGitHub, repository: Repository) -> Issue:
    return fake.open_issue(repository, "bob", "Port it", None)


def client(fake: FakeGitHub, token: str | None = None) -> httpx2.Client:
    headers = {"User-Agent": "test"} | ({"Authorization": f"Bearer {token}"} if token else {})
    return httpx2.Client(base_url=fake.address, headers=headers, timeout=10)


def ask(fake: FakeGitHub, method: str, path: str, *, by: str | None = "alice", **more: object) -> httpx2.Response:
    with client(fake, fake.token(by) if by else None) as session:
        return session.request(method, path, **more)


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("GET", "/repos/example/TileGym/stargazers", None, "the fake GitHub has no GET"),
        ("POST", f"/repos/{NAME}/issues/1/comments", {"text": "x"}, "required property 'body'"),
        ("POST", f"/repos/{NAME}/issues/1/comments", {"body": 3}, "must be string"),
        ("POST", f"/repos/{NAME}/issues/1/comments", {"body": "x", "boddy": "x"}, "body has boddy"),
        ("GET", f"/repos/{NAME}/issues?label=x", None, "query has label"),
        ("GET", f"/repos/{NAME}/issues/one", None, "path.issue_number must be integer"),
        ("POST", f"/repos/{NAME}/issues/1/reactions", {"content": "wave"}, "must be equal to one of the allowed"),
        ("POST", f"/repos/{NAME}/pulls", None, "a body is required"),
    ],
)
def test_what_github_does_not_know_is_told_and_fails_the_test(
    contract: Contract, tmp_path: Path, method: str, path: str, body: object, said: str
) -> None:
    strict = FakeGitHub(tmp_path / "strict", contract)
    strict.open_issue(strict.add_repository(NAME), "bob", "x")
    answer = ask(strict, method, path, json=body)
    assert answer.status_code == 501
    assert said in answer.json()["message"]
    with pytest.raises(AssertionError, match="not as GitHub describes it"):
        strict.close()


def test_an_answer_that_github_would_not_give_fails_the_test(contract: Contract, tmp_path: Path) -> None:
    strict = FakeGitHub(tmp_path / "strict", contract)
    strict.open_issue(strict.add_repository(NAME), "bob", "x").title = None  # type: ignore[assignment]
    ask(strict, "GET", f"/repos/{NAME}/issues/1")
    with pytest.raises(AssertionError, match="answer/title must be string"):
        strict.close()


def test_lists_come_in_pages_with_links(fake: FakeGitHub, repository: Repository, issue: Issue) -> None:
    for index in range(5):
        fake.comment(repository, issue, "bob", str(index))
    first = ask(fake, "GET", f"/repos/{NAME}/issues/1/comments?per_page=2")
    assert [c["body"] for c in first.json()] == ["0", "1"]
    assert 'page=3>; rel="last"' in first.headers["Link"]
    with client(fake, fake.token("alice")) as session:
        second = session.get(first.links["next"]["url"])
    assert [c["body"] for c in second.json()] == ["2", "3"]
    assert set(second.links) == {"prev", "next", "last", "first"}


def test_an_unchanged_answer_is_a_304_that_costs_nothing(
    fake: FakeGitHub, repository: Repository, issue: Issue
) -> None:
    path = f"/repos/{NAME}/issues/1"
    first = ask(fake, "GET", path)
    used = fake.limits.used
    again = ask(fake, "GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content, fake.limits.used) == (304, b"", used)
    fake.label(repository, issue, "port: x", "alice")
    assert ask(fake, "GET", path, headers={"If-None-Match": first.headers["ETag"]}).status_code == 200


def test_the_primary_limit_is_told_in_headers_and_ends_at_its_reset(fake: FakeGitHub, repository: Repository) -> None:
    fake.limits.limit = 2
    answers = [ask(fake, "GET", f"/repos/{NAME}") for _ in range(3)]
    assert [a.status_code for a in answers] == [200, 200, 403]
    assert [a.headers["X-RateLimit-Remaining"] for a in answers] == ["1", "0", "0"]
    fake.world.advance(3601)
    assert ask(fake, "GET", f"/repos/{NAME}").status_code == 200


def test_the_secondary_limit_counts_writes_and_notes_who_does_not_wait(
    fake: FakeGitHub, repository: Repository, issue: Issue
) -> None:
    fake.limits.writes_per_minute = 2
    path = f"/repos/{NAME}/issues/1/comments"
    answers = [ask(fake, "POST", path, json={"body": "x"}) for _ in range(3)]
    assert [a.status_code for a in answers] == [201, 201, 403]
    assert int(answers[2].headers["Retry-After"]) > 50
    assert ask(fake, "GET", f"/repos/{NAME}").status_code == 200
    assert fake.limits.disobeyed == [f"GET /repos/{NAME}"]


@pytest.mark.parametrize(
    ("kind", "status", "written"),
    [
        (Kind.BAD_GATEWAY_BEFORE, 502, 0),
        (Kind.BAD_GATEWAY_AFTER, 502, 1),
        (Kind.SERVER_ERROR, 500, 0),
        (Kind.UNAUTHORIZED, 401, 0),
        (Kind.PRIMARY_LIMIT_403, 403, 0),
        (Kind.PRIMARY_LIMIT_429, 429, 0),
        (Kind.SECONDARY_LIMIT_429, 429, 0),
        (Kind.SECONDARY_LIMIT_SILENT, 403, 0),
        (Kind.SLOW, 201, 1),
        (Kind.LOST_BEFORE, None, 0),
        (Kind.LOST_AFTER, None, 1),
        (Kind.HANG_AFTER, None, 1),
        (Kind.TRUNCATED, None, 1),
    ],
)
def test_each_failure_says_and_leaves_what_it_should(
    fake: FakeGitHub, repository: Repository, issue: Issue, kind: Kind, status: int | None, written: int
) -> None:
    fake.faults.add(kind, "POST", ".*/comments", seconds=0.2)
    try:
        got: int | None = ask(fake, "POST", f"/repos/{NAME}/issues/1/comments", json={"body": "x"}).status_code
    except httpx2.TransportError:
        got = None
    assert (got, len(repository.comments)) == (status, written)
    assert ask(fake, "POST", f"/repos/{NAME}/issues/1/comments", json={"body": "y"}).status_code == 201


def test_an_apps_token_may_what_it_was_granted_until_it_expires(
    fake: FakeGitHub, repository: Repository, issue: Issue
) -> None:
    app, key = fake.add_app("tileport", on="example", permissions={"issues": "write", "metadata": "read"})
    now = int(time.time())
    proof = jwt.encode({"iss": str(app.id), "iat": now - 10, "exp": now + 500}, key, algorithm="RS256")
    with client(fake, proof) as session:
        installation = session.get(f"/repos/{NAME}/installation").json()["id"]
        made = session.post(
            f"/app/installations/{installation}/access_tokens", json={"permissions": {"issues": "write"}}
        )
        assert session.post(f"/app/installations/{installation}/access_tokens", json={}).status_code == 201
        wants_more = session.post(
            f"/app/installations/{installation}/access_tokens", json={"permissions": {"contents": "write"}}
        )
    assert (made.status_code, wants_more.status_code) == (201, 422)
    with client(fake, made.json()["token"]) as session:
        comment = f"/repos/{NAME}/issues/1/comments"
        assert session.post(comment, json={"body": "x"}).json()["user"]["login"] == "tileport[bot]"
        check = {"name": "c", "head_sha": fake.head(repository, "main")}
        assert session.post(f"/repos/{NAME}/check-runs", json=check).status_code == 403
        fake.world.advance(3601)
        assert session.post(comment, json={"body": "x"}).status_code == 401


def test_a_forged_jwt_is_refused(fake: FakeGitHub, repository: Repository) -> None:
    app, _ = fake.add_app("tileport", on="example")
    _, other_key = fake.add_app("other", on="elsewhere")
    now = int(time.time())
    proof = jwt.encode({"iss": str(app.id), "iat": now, "exp": now + 500}, other_key, algorithm="RS256")
    with client(fake, proof) as session:
        assert session.get("/app").status_code == 401


def test_a_forks_pull_request_is_a_ref_of_the_repository_and_follows_pushes(
    fake: FakeGitHub, repository: Repository, tmp_path: Path
) -> None:
    fork = fake.fork(repository, "carol")
    fake.push_files(fork, "idea", {"kernel.rs": "fn a() {}\n", "ünï cödé\n.rs": "x\n", "b.png": PNG}, base="main")
    pull = fake.open_pull(repository, "carol", branch="idea", head=fork)
    files = ask(fake, "GET", f"/repos/{NAME}/pulls/{pull.number}/files").json()
    assert {f["filename"] for f in files} == {"kernel.rs", "ünï cödé\n.rs", "b.png"}
    said = ask(fake, "GET", f"/repos/{NAME}/pulls/{pull.number}").json()
    assert (said["head"]["label"], said["base"]["ref"], said["commits"]) == ("carol:idea", "main", 1)
    new = fake.push_files(fork, "idea", {"kernel.rs": None, "moved.rs": "fn a() {}\n"})
    clone = fake.clone(repository, tmp_path / "clone")
    subprocess.run(["git", "-C", clone, "fetch", "-q", "origin", f"refs/pull/{pull.number}/head"], check=True)
    fetched = subprocess.run(
        ["git", "-C", clone, "rev-parse", "FETCH_HEAD"], check=True, capture_output=True, text=True
    )
    assert fetched.stdout.strip() == new
    assert {f["filename"] for f in ask(fake, "GET", f"/repos/{NAME}/pulls/1/files").json()} >= {"moved.rs"}


def test_a_renamed_file_is_listed_with_its_old_name(fake: FakeGitHub, repository: Repository) -> None:
    fake.push_files(repository, "main", {"a.rs": "fn a() {}\n" * 20})
    fake.push_files(repository, "move", {"a.rs": None, "b.rs": "fn a() {}\n" * 20 + "// more\n"}, base="main")
    fake.open_pull(repository, "alice", branch="move")
    (found,) = ask(fake, "GET", f"/repos/{NAME}/pulls/1/files").json()
    assert (found["status"], found["previous_filename"], found["filename"]) == ("renamed", "a.rs", "b.rs")
    assert found["patch"].startswith("@@ ")


def test_check_runs_hold_their_annotations_fifty_at_a_time(fake: FakeGitHub, repository: Repository) -> None:
    token = fake.workflow_token(checks="write")
    line = {"path": "k.rs", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m"}
    output = {"title": "t", "summary": "s", "annotations": [line] * 50}
    with client(fake, token) as session:
        made = session.post(
            f"/repos/{NAME}/check-runs", json={"name": "c", "head_sha": fake.head(repository, "main"), "output": output}
        ).json()
        path = f"/repos/{NAME}/check-runs/{made['id']}"
        more = session.patch(path, json={"conclusion": "failure", "output": output}).json()
        assert (more["status"], more["output"]["annotations_count"]) == ("completed", 100)
        assert len(session.get(f"{path}/annotations?per_page=100").json()) == 100
        too_many = {**output, "annotations": [line] * 51}
        assert session.patch(path, json={"output": too_many}).status_code in (422, 501)
    fake.violations.clear()


def test_renamed_transferred_deleted_and_locked_are_answered_as_github_does(
    fake: FakeGitHub, repository: Repository, issue: Issue
) -> None:
    fake.rename(repository, "TileGym2")
    moved = ask(fake, "GET", f"/repos/{NAME}/issues/1")
    assert (moved.status_code, moved.headers["Location"]) == (301, f"{fake.address}/repos/example/TileGym2/issues/1")
    assert ask(fake, "POST", f"/repos/{NAME}/issues/1/comments", json={"body": "x"}).status_code == 307
    other = fake.add_repository("example/Other")
    fake.transfer(repository, issue, other)
    assert ask(fake, "GET", "/repos/example/TileGym2/issues/1").headers["Location"].endswith("/example/Other/issues/1")
    gone = fake.open_issue(repository, "bob", "gone")
    fake.delete_issue(gone)
    assert ask(fake, "GET", f"/repos/example/TileGym2/issues/{gone.number}").status_code == 410
    locked = fake.open_issue(repository, "bob", "locked")
    locked.locked = True
    path = f"/repos/example/TileGym2/issues/{locked.number}/comments"
    assert [ask(fake, "POST", path, json={"body": "x"}, by=by).status_code for by in ("bob", "alice")] == [403, 201]


def test_a_body_that_is_too_long_is_refused(fake: FakeGitHub, repository: Repository, issue: Issue) -> None:
    path = f"/repos/{NAME}/issues/1/comments"
    answers = [ask(fake, "POST", path, json={"body": "x" * n}).status_code for n in (65_536, 65_537)]
    assert answers == [201, 422]


def test_a_push_needs_a_token_that_may(fake: FakeGitHub, repository: Repository, tmp_path: Path) -> None:
    clone = fake.clone(repository, tmp_path / "clone")
    codes = {}
    for who, token in {"reader": fake.token("stranger"), "nobody": None, "writer": fake.token("alice")}.items():
        url = fake.address.replace("//", f"//x-access-token:{token}@" if token else "//")
        push = ["git", "-C", str(clone), "-c", "core.askPass=true", "push", "-q", f"{url}/{NAME}", "HEAD:refs/heads/b"]
        environment = {"GIT_TERMINAL_PROMPT": "0", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        codes[who] = subprocess.run(push, capture_output=True, env=environment, check=False).returncode == 0
    assert codes == {"reader": False, "nobody": False, "writer": True}


def test_every_webhook_has_the_shape_github_publishes(
    fake: FakeGitHub, contract: Contract, repository: Repository, issue: Issue
) -> None:
    fake.label(repository, issue, "port: x", "alice")
    comment = fake.comment(repository, issue, "alice", "/port x")
    before = fake.head(repository, "main") or ""
    fake.push_files(repository, "work", {"a.rs": "x"}, base="main")
    pull = fake.open_pull(repository, "alice", branch="work")
    fake.push_files(repository, "main", {"src/b c.py": "x"})
    alice, payloads = fake.user("alice"), fake.payloads
    sent = {
        "issues labeled": payloads.labeled(repository, issue, "port: x", alice),
        "issues unlabeled": payloads.labeled(repository, issue, "port: x", alice, off=True),
        "issues opened": payloads.opened(repository, issue, alice),
        "issue_comment created": payloads.commented(repository, comment),
        "issue_comment edited": payloads.commented(repository, comment, action="edited"),
        "pull_request opened": payloads.pull_request(repository, pull, alice, action="opened"),
        "pull_request synchronize": payloads.pull_request(repository, pull, alice, action="synchronize", before=before),
        "push main": payloads.push(repository, "main", before, alice),
        "ping x": payloads.ping(repository, alice),
    }
    judged = {name: contract.webhook(name.split()[0], payload) for name, payload in sent.items()}
    assert judged == {name: [] for name in sent}
    assert contract.webhook("issues", {**sent["issues labeled"], "issue": {}})
    assert contract.webhook("issues", {"action": "labelled"}) == ["GitHub has no event issues$labelled"]


def test_a_delivery_is_signed_as_github_documents_it() -> None:
    # The example of GitHub's page "Validating webhook deliveries".
    assert signature("It's a Secret to Everybody", b"Hello, World!") == (
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    )
    assert "X-Hub-Signature-256" not in delivery_headers("ping", b"{}", None)
