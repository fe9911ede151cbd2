"""Webhooks as GitHub sends them: whole payloads, judged by GitHub's own schemas, signed, with a delivery id."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from typing import Any

import httpx2
from tests.bot.fakegithub.git_store import commit_info, commits_between, git
from tests.bot.fakegithub.render import Json, Renderer
from tests.bot.fakegithub.render_pulls import full_pull
from tests.bot.fakegithub.state import Comment, Issue, Repository, User


class Payloads:
    """Each method gives the JSON of one event; its name is the first word of GitHub's `X-GitHub-Event`."""

    def __init__(self, say: Renderer) -> None:
        self._say = say

    def labeled(self, repository: Repository, issue: Issue, label: str, sender: User, *, off: bool = False) -> Json:
        said = self._say.label(repository, repository.labels[label.lower()])
        action = "unlabeled" if off else "labeled"
        return {**self._issue(action, repository, issue, sender), "label": said}

    def opened(self, repository: Repository, issue: Issue, sender: User) -> Json:
        return self._issue("opened", repository, issue, sender)

    def commented(self, repository: Repository, comment: Comment, *, action: str = "created") -> Json:
        issue = repository.issues[comment.issue]
        said = {
            **self._issue(action, repository, issue, comment.user),
            "comment": self._say.comment(repository, comment),
        }
        if action == "edited":
            said["changes"] = {"body": {"from": "before"}}
        return said

    def pull_request(
        self, repository: Repository, issue: Issue, sender: User, *, action: str, before: str = ""
    ) -> Json:
        pull = full_pull(self._say, repository, issue)
        for side in ("head", "base"):
            pull[side]["repo"] = self._hook_repository(pull[side]["repo"])
        said = {"action": action, "number": issue.number, "pull_request": pull, **self._about(repository, sender)}
        if action == "synchronize":
            assert issue.pull is not None
            said |= {"before": before, "after": issue.pull.head_sha}
        return said

    def push(self, repository: Repository, branch: str, before: str, sender: User) -> Json:
        after = git(repository.git, "rev-parse", f"refs/heads/{branch}").strip()
        commits = [self._commit(repository, sha, sender) for sha in commits_between(repository.git, before, after)]
        about = self._about(repository, sender)
        about["repository"] |= {"created_at": 1_767_225_600, "pushed_at": 1_767_225_600, "stargazers": 0}
        about["repository"] |= {"master_branch": repository.default_branch}
        return {
            "ref": f"refs/heads/{branch}",
            "before": before,
            "after": after,
            **about,
            "pusher": {"name": sender.login, "email": f"{sender.login}@users.noreply.example"},
            "created": False,
            "deleted": False,
            "forced": False,
            "base_ref": None,
            "compare": self._say.html(repository, f"/compare/{before[:12]}...{after[:12]}"),
            "commits": commits[:2048],
            "head_commit": commits[-1] if commits else None,
        }

    def ping(self, repository: Repository, sender: User) -> Json:
        hook = self._say.repository_api(repository, "/hooks/1")
        return {
            "zen": "Keep it logically awesome.",
            "hook_id": 1,
            "hook": {
                "type": "Repository",
                "id": 1,
                "name": "web",
                "active": True,
                "events": ["*"],
                "config": {"content_type": "json", "insecure_ssl": "0", "url": self._say.api("/hook")},
                "updated_at": "2026-01-01T00:00:00Z",
                "created_at": "2026-01-01T00:00:00Z",
                "url": hook,
                "test_url": f"{hook}/test",
                "ping_url": f"{hook}/pings",
                "deliveries_url": f"{hook}/deliveries",
                "last_response": {"code": None, "status": "unused", "message": None},
            },
            **self._about(repository, sender),
        }

    def _issue(self, action: str, repository: Repository, issue: Issue, sender: User) -> Json:
        return {"action": action, "issue": self._say.issue(repository, issue), **self._about(repository, sender)}

    def _about(self, repository: Repository, sender: User) -> Json:
        said = self._hook_repository(self._say.repository(repository))
        return {"repository": said, "sender": self._say.user(sender)}

    def _hook_repository(self, said: Json) -> Json:
        return {**said, "custom_properties": {}}

    def _commit(self, repository: Repository, sha: str, sender: User) -> Json:
        found = commit_info(repository.git, sha)
        listed = git(repository.git, "diff-tree", "-r", "-z", "--no-commit-id", "--name-status", "--root", sha).split(
            "\0"
        )
        names: dict[str, list[str]] = {"A": [], "D": [], "M": []}
        for letter, path in zip(listed[::2], listed[1::2], strict=False):
            names.setdefault(letter, []).append(path)
        person = {"name": found.author, "email": found.email, "username": sender.login}
        return {
            "id": sha,
            "tree_id": found.tree,
            "distinct": True,
            "message": found.message,
            "timestamp": found.date,
            "url": self._say.html(repository, f"/commit/{sha}"),
            "author": person,
            "committer": person,
            "added": names["A"],
            "removed": names["D"],
            "modified": names["M"],
        }


def signature(secret: str, body: bytes) -> str:
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def delivery_headers(event: str, body: bytes, secret: str | None, delivery: str | None = None) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/1a2b3c4",
        "X-GitHub-Delivery": delivery or str(uuid.uuid4()),
        "X-GitHub-Event": event,
        "X-GitHub-Hook-ID": "1",
    }
    return headers | ({"X-Hub-Signature-256": signature(secret, body)} if secret is not None else {})


def deliver(
    url: str, event: str, payload: dict[str, Any], *, secret: str | None, delivery: str | None = None
) -> httpx2.Response:
    body = json.dumps(payload).encode()
    return httpx2.post(url, content=body, headers=delivery_headers(event, body, secret, delivery), timeout=10)
