"""The adapter to GitHub asks what it should and never repeats a write; GitHub is a server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from tileport_bot.github import Comment, NewPullRequest
from tileport_bot.live_github import LiveGitHub
from tileport_bot.permissions import Permission
from tileport_skill.errors import MachineryError

Answer = tuple[int, Any]


class _Server(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, list[Answer]]] = {}
    asked: ClassVar[list[tuple[str, Any]]] = []

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        what = f"{self.command} {self.path.partition('?')[0]}"
        self.asked.append((what, json.loads(body) if body else None))
        scripted = self.answers.get(what, [(404, {"message": "Not Found"})])
        status, answer = scripted.pop(0) if len(scripted) > 1 else scripted[0]
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = _serve

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[type[_Server]]:
    _Server.answers, _Server.asked = {}, []
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    _Server.address = f"http://127.0.0.1:{http.server_port}"  # type: ignore[attr-defined]
    yield _Server
    http.shutdown()
    http.server_close()


@pytest.fixture
def live(server: type[_Server]) -> LiveGitHub:
    return LiveGitHub("token", login="tileport[bot]", api=server.address)  # type: ignore[attr-defined]


def asked(server: type[_Server]) -> list[str]:
    return [what for what, _ in server.asked]


def test_a_comment_whose_answer_was_lost_is_not_written_twice(server: type[_Server], live: LiveGitHub) -> None:
    write = "POST /repos/a/b/issues/12/comments"
    server.answers = {write: [(502, {"message": "Bad Gateway"}), (201, {"id": 1})]}
    with pytest.raises(MachineryError, match="answered 502 to create_comment"):
        live.create_comment("a/b", 12, "text")
    assert asked(server) == [write]


def test_reading_is_tried_again(server: type[_Server], live: LiveGitHub) -> None:
    read = "GET /repos/a/b/issues/comments/7"
    server.answers = {read: [(502, {}), (503, {}), (200, {"id": 7, "body": "text"})]}
    assert live.read_comment("a/b", 7) == "text"
    assert asked(server) == [read] * 3


def test_only_our_own_comments_are_ours(server: type[_Server], live: LiveGitHub) -> None:
    url = "http://github.example/repos/a/b/issues/12"
    comments = [
        {"id": 1, "body": "<!-- tileport:status {} -->", "user": {"login": "mallory"}, "issue_url": url},
        {"id": 2, "body": "ours", "user": {"login": "tileport[bot]"}, "issue_url": url},
        {"id": 3, "body": "of a deleted account", "user": None, "issue_url": url},
    ]
    server.answers = {"GET /repos/a/b/issues/12/comments": [(200, comments)]}
    assert live.own_comments("a/b", 12) == (Comment(2, "ours"),)


@pytest.mark.parametrize(("answer", "permission"), [*((p.value, p) for p in Permission), ("odd", Permission.NONE)])
def test_the_permission_is_githubs_answer(
    server: type[_Server], live: LiveGitHub, answer: str, permission: Permission
) -> None:
    server.answers = {"GET /repos/a/b/collaborators/alice/permission": [(200, {"permission": answer})]}
    assert live.permission("a/b", "alice") is permission


def test_comments_reactions_and_pull_requests_are_written(server: type[_Server], live: LiveGitHub) -> None:
    pull = {"number": 34, "html_url": "https://example.org/34", "body": "b"}
    server.answers = {
        "POST /repos/a/b/issues/12/comments": [(201, {"id": 5})],
        "PATCH /repos/a/b/issues/comments/5": [(200, {})],
        "POST /repos/a/b/issues/comments/4/reactions": [(201, {})],
        "POST /repos/a/b/issues/12/reactions": [(200, {})],
        "GET /repos/a/b/pulls": [(200, [])],
        "POST /repos/a/b/pulls": [(201, pull)],
        "GET /repos/a/b/pulls/34": [(200, pull)],
        "PATCH /repos/a/b/pulls/34": [(200, pull)],
    }
    assert live.create_comment("a/b", 12, "one") == 5
    live.edit_comment("a/b", 5, "two")
    live.react("a/b", 12, 4)
    live.react("a/b", 12, None)
    assert live.find_pull_request("a/b", "port/x") is None
    new = NewPullRequest(branch="port/x", base="main", title="Port x", body="b", draft=True)
    assert live.create_pull_request("a/b", new).link == "https://example.org/34"
    live.edit_pull_request("a/b", 34, "Port x", "c")
    sent = dict(server.asked)
    assert sent["PATCH /repos/a/b/issues/comments/5"] == {"body": "two"}
    assert sent["POST /repos/a/b/issues/12/reactions"] == {"content": "eyes"}
    assert sent["POST /repos/a/b/pulls"] == {
        "base": "main",
        "head": "port/x",
        "title": "Port x",
        "body": "b",
        "draft": True,
    }
