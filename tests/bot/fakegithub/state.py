"""What the fake GitHub knows: users, repositories, issues, pull requests, check runs, tokens and a clock.

Plain data; `render.py` says it in GitHub's JSON and the `routes_*` modules change it.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class User:
    id: int
    login: str
    type: str = "User"


@dataclass
class App:
    id: int
    slug: str
    public_key: str
    """PEM; the private half is the test's."""


@dataclass
class Token:
    text: str
    login: str
    """Whom it writes as."""
    permissions: dict[str, str] | None = None
    """An installation's, by name; None for a person, whose role in the repository counts."""
    expires: float | None = None
    app: App | None = None
    repositories: frozenset[str] | None = None
    """Full names, lower case; None is all."""


@dataclass
class Reaction:
    id: int
    user: User
    content: str
    created: str


@dataclass
class Comment:
    id: int
    issue: int
    user: User
    body: str
    created: str
    updated: str
    reactions: list[Reaction] = field(default_factory=list)


@dataclass
class Label:
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass
class Pull:
    head_repository: str
    """Full name: a fork's pull request has another than its own repository's."""
    head_branch: str
    head_sha: str
    base_branch: str
    base_sha: str
    draft: bool = False
    merged: bool = False
    maintainer_can_modify: bool = False


@dataclass
class Issue:
    id: int
    number: int
    user: User
    title: str
    body: str | None
    created: str
    updated: str
    state: str = "open"
    locked: bool = False
    labels: list[str] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    """Who set and removed which label, as data for `render.issue_event`."""
    closed: str | None = None
    pull: Pull | None = None
    gone_to: str | None = None
    """`owner/name#number` after a transfer; `deleted` after a deletion."""


@dataclass
class CheckRun:
    id: int
    name: str
    head_sha: str
    app: App
    status: str
    conclusion: str | None
    details_url: str | None
    external_id: str | None
    started: str
    completed: str | None
    output: dict[str, Any]
    annotations: list[dict[str, Any]]


@dataclass
class Repository:
    id: int
    owner: User
    name: str
    git: Path
    """The bare repository that is served."""
    created: str
    default_branch: str = "main"
    fork_of: str | None = None
    private: bool = False
    roles: dict[str, str] = field(default_factory=dict)
    """Login to admin, maintain, write, triage or read; anyone else reads a public repository."""
    labels: dict[str, Label] = field(default_factory=dict)
    """By lower-case name: GitHub finds them without case."""
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    dispatches: list[dict[str, Any]] = field(default_factory=list)
    """Workflows that were asked to run."""

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"


class World:
    """Everything, and the one clock. `advance` moves time on without waiting."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = ""
        self.users: dict[str, User] = {}
        self.repositories: dict[str, Repository] = {}
        self.renamed: dict[str, str] = {}
        self.tokens: dict[str, Token] = {}
        self.apps: dict[int, App] = {}
        self.installations: dict[int, tuple[App, str, dict[str, str]]] = {}
        """Id to App, account and permissions."""
        self._ids = itertools.count(1001)
        self._moved = 0.0

    def next_id(self) -> int:
        return next(self._ids)

    def now(self) -> float:
        return time.time() + self._moved

    def stamp(self) -> str:
        return stamp(self.now())

    def advance(self, seconds: float) -> None:
        self._moved += seconds

    def user(self, login: str, type: str = "User") -> User:
        kind = "Bot" if login.endswith("[bot]") else type
        return self.users.setdefault(login.lower(), User(self.next_id(), login, kind))

    def find_repository(self, owner: str, name: str) -> Repository | None:
        return self.repositories.get(f"{owner}/{name}".lower())

    def role(self, repository: Repository, login: str) -> str:
        if login.lower() == repository.owner.login.lower():
            return "admin"
        return repository.roles.get(login.lower(), "none" if repository.private else "read")
