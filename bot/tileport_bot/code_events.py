"""Events about code, a pull request's or a branch's, as typed values; `events.py` has those of conversations."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, Field

from tileport_bot.events import Ignored, RepositoryModel, UserModel, read_model

_ACTIONS = ("opened", "reopened", "synchronize", "ready_for_review")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullChanged:
    """A pull request has new code to look at; from a fork too, and by anyone."""

    repository: str
    number: int
    base: str
    """The branch it is to be merged into, and the commit that stood at."""
    base_sha: str
    head_sha: str
    branch: str
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """The default branch has moved."""

    repository: str
    branch: str
    before: str | None
    """None where there is nothing to compare with: the branch is new."""
    after: str


CodeEvent = PullChanged | Pushed | Ignored


class _Side(BaseModel):
    ref: str
    sha: str = Field(pattern=r"^[0-9a-f]{40}$")


class _Pull(BaseModel):
    number: int = Field(gt=0)
    base: _Side
    head: _Side
    user: UserModel | None = None
    """Null for the author of a deleted account."""


class _PullRequest(BaseModel):
    repository: RepositoryModel
    pull_request: _Pull
    action: str = ""


class _Push(BaseModel):
    repository: RepositoryModel
    ref: str
    before: str = Field(pattern=r"^[0-9a-f]{40}$")
    after: str = Field(pattern=r"^[0-9a-f]{40}$")


def read_code_event(name: str, payload: object) -> CodeEvent | None:
    """None for events that are not about code. Raises `RequestError` if the payload is not of GitHub's shape."""
    match name:
        case "pull_request" | "pull_request_target":
            return _pull_event(read_model(_PullRequest, name, payload))
        case "push":
            return _push_event(read_model(_Push, name, payload))
    return None


def _pull_event(found: _PullRequest) -> CodeEvent:
    if found.action not in _ACTIONS:
        return Ignored(why=f"nothing is done on pull_request ({found.action})")
    pull = found.pull_request
    return PullChanged(
        repository=found.repository.full_name,
        number=pull.number,
        base=pull.base.ref,
        base_sha=pull.base.sha,
        head_sha=pull.head.sha,
        branch=pull.head.ref,
        author=pull.user.login if pull.user else "ghost",
    )


def _push_event(found: _Push) -> CodeEvent:
    branch = found.repository.default_branch
    if found.ref != f"refs/heads/{branch}":
        return Ignored(why=f"{found.ref} is not the default branch")
    if set(found.after) == {"0"}:
        return Ignored(why="the branch was deleted")
    before = None if set(found.before) == {"0"} else found.before
    return Pushed(repository=found.repository.full_name, branch=branch, before=before, after=found.after)
