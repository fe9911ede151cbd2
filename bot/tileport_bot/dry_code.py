"""The code side of the dry run: every write is kept as a file, and what it leaves as Markdown."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from tileport_bot.code_records import CheckRun, OwnIssue, PullHead
from tileport_driver.git import GitError, resolve_commit
from tileport_skill.errors import RequestError


class _Kept(Protocol):
    """What `DryRunGitHub` has."""

    @property
    def _writes(self) -> list[dict[str, Any]]: ...

    def _keep(self, write: dict[str, Any], line: str) -> None: ...


class DryRunCode:
    """Mixed into `DryRunGitHub`; commits are those that the clone has already."""

    def __init__(self) -> None:
        self._heads: dict[int, str] = {}

    def put_check(self: _Kept, repository: str, check: CheckRun) -> None:
        write = {"write": "put check", "repository": repository, **asdict(check)}
        self._keep(write, f"check run {check.name} at {check.head[:12]}: {check.conclusion}, {check.title}")

    def pull_head(self, repository: str, number: int) -> PullHead:
        """As it was fetched: nobody pushes to a dry run."""
        if number not in self._heads:
            raise RequestError("A dry run knows of no pull request but its event's.")
        return PullHead(self._heads[number], "main", self._heads[number], True)

    def mark_ready(self: _Kept, repository: str, number: int) -> None:
        write = {"write": "mark ready", "repository": repository, "number": number}
        self._keep(write, f"mark pull request {number} ready for review")

    def fetch_pull(self, repository: str, checkout: Path, number: int) -> str:
        names = (f"refs/tileport/pull/{number}/head", f"refs/pull/{number}/head")
        self._heads[number] = _resolved(checkout, *names)
        return self._heads[number]

    def fetch_branch(self, repository: str, checkout: Path, branch: str) -> str:
        return _resolved(checkout, f"refs/remotes/origin/{branch}", f"refs/heads/{branch}")

    def own_issues(self: _Kept, repository: str) -> tuple[OwnIssue, ...]:
        found: dict[int, OwnIssue] = {}
        for write in self._writes:
            if write.get("repository") == repository and write["write"] == "create issue":
                found[write["number"]] = OwnIssue(write["number"], write["title"], write["body"], True)
            elif write.get("repository") == repository and write["write"] == "edit issue":
                old = found[write["number"]]
                found[write["number"]] = old._replace(body=write["body"], is_open=write["is_open"])
        return tuple(found.values())

    def create_issue(self: _Kept, repository: str, title: str, body: str, label: str) -> int:
        number = 1 + len([write for write in self._writes if write["write"] == "create issue"])
        write: dict[str, Any] = {"write": "create issue", "repository": repository, "number": number, "title": title}
        self._keep({**write, "body": body, "label": label}, f"open an issue: {title}")
        return number

    def edit_issue(self: _Kept, repository: str, number: int, *, body: str, is_open: bool) -> None:
        write = {"write": "edit issue", "repository": repository, "number": number, "body": body, "is_open": is_open}
        self._keep(write, f"{'edit' if is_open else 'close'} issue {number}")

    def put_label(self: _Kept, repository: str, number: int, label: str) -> None:
        write = {"write": "put label", "repository": repository, "number": number, "label": label}
        self._keep(write, f"label issue {number}: {label}")


def _resolved(checkout: Path, *names: str) -> str:
    """The first of the names that the clone has; else where it stands."""
    for name in names:
        with contextlib.suppress(GitError):
            return resolve_commit(checkout, name)
    return resolve_commit(checkout)
