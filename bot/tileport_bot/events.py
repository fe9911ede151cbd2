"""GitHub's JSON as typed events. Nothing else in the bot knows what GitHub's JSON looks like.

Only what is acted on is read, so fields that GitHub adds, renames elsewhere or leaves null do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError

from tileport_skill.errors import RequestError


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something happened, and by whom."""

    repository: str
    """`owner/name`."""
    default_branch: str
    issue: int
    """The number of an issue or of a pull request; GitHub counts them together. 0 where nobody wrote anywhere."""
    sender: str
    """Who set the label or wrote the comment; not the issue's author."""
    sender_is_bot: bool
    trigger: str
    """Says which act this was: the same in every delivery of it, through whichever hook.

    Empty for one that is delivered once, such as the start of a workflow.
    """
    at: str = ""
    """When, as GitHub tells it (`2026-08-22T12:03:07Z`, which sorts); empty where it does not."""
    on_pull_request: bool = False
    """The issue is a pull request's conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labeled:
    place: Place
    label: str
    """The label of this event; what other labels the issue has is not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlabeled:
    place: Place
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commented:
    """A new comment. Edits are never events: who may write could have had their words changed since."""

    place: Place
    comment: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """Somebody started the batch workflow by hand. GitHub lets only those do so who may write."""

    place: Place
    operators: str
    """As they were typed: `all`, or names between commas or spaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    why: str


Event = Labeled | Unlabeled | Commented | Dispatched | Ignored


class UserModel(BaseModel):
    login: str
    type: str = "User"


class RepositoryModel(BaseModel):
    full_name: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    default_branch: str = "main"


class _Issue(BaseModel):
    number: Annotated[int, Field(gt=0)]
    updated_at: str = ""
    pull_request: dict[str, object] | None = None


class _Label(BaseModel):
    name: str


class _Comment(BaseModel):
    id: int
    body: str | None = None
    created_at: str = ""


class _Any(BaseModel):
    action: str | None = None
    """Absent in some events, null in none that matter."""


class _Issues(BaseModel):
    repository: RepositoryModel
    issue: _Issue
    sender: UserModel
    label: _Label | None = None
    """Absent when the label itself was deleted from the repository."""


class _Dispatch(BaseModel):
    repository: RepositoryModel
    sender: UserModel
    inputs: dict[str, object] | None = None


class _IssueComment(BaseModel):
    repository: RepositoryModel
    issue: _Issue
    sender: UserModel
    comment: _Comment


_Model = TypeVar("_Model", bound=BaseModel)


def read_event(name: str, payload: object) -> Event:
    """`name` is `X-GitHub-Event`, or `github.event_name` in a workflow.

    Raises `RequestError` if the payload is not of GitHub's shape.
    """
    action = read_model(_Any, name, payload).action or ""
    match name, action:
        case "issues", "labeled" | "unlabeled":
            return _label_event(action, read_model(_Issues, name, payload))
        case "issues", "transferred":
            return Ignored(why="the issue was transferred; its labels count where it is now")
        case "issue_comment", "created":
            return _comment_event(read_model(_IssueComment, name, payload))
        case "issue_comment", "edited":
            return Ignored(why="an edited comment is not read; write a new one")
        case "workflow_dispatch", "":
            return _dispatch_event(read_model(_Dispatch, name, payload))
    return Ignored(why=f"nothing is done on {name}{f' ({action})' if action else ''}")


def _label_event(action: str, found: _Issues) -> Event:
    if found.label is None:
        return Ignored(why="the label was deleted from the repository")
    label = found.label.name
    place = _place(found, trigger=f"{action} {label} {found.issue.updated_at}", at=found.issue.updated_at)
    return Labeled(place=place, label=label) if action == "labeled" else Unlabeled(place=place, label=label)


def _comment_event(found: _IssueComment) -> Event:
    place = _place(found, trigger=f"comment {found.comment.id}", at=found.comment.created_at)
    return Commented(place=place, comment=found.comment.id, body=found.comment.body or "")


def _dispatch_event(found: _Dispatch) -> Event:
    operators = (found.inputs or {}).get("operators")
    if not isinstance(operators, str) or not operators.strip():
        return Ignored(why="the workflow was started for no operators (its input `operators` is empty)")
    return Dispatched(place=_place(found, trigger=""), operators=operators)


def _place(found: _Issues | _IssueComment | _Dispatch, *, trigger: str, at: str = "") -> Place:
    sender, issue = found.sender, None if isinstance(found, _Dispatch) else found.issue
    return Place(
        repository=found.repository.full_name,
        default_branch=found.repository.default_branch,
        issue=issue.number if issue else 0,
        sender=sender.login,
        sender_is_bot=sender.type != "User" or sender.login.endswith("[bot]"),
        trigger=trigger,
        at=at,
        on_pull_request=issue is not None and issue.pull_request is not None,
    )


def read_model(model: type[_Model], name: str, payload: object) -> _Model:
    try:
        return model.model_validate(payload)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise RequestError(
            f"This is not a GitHub `{name}` event: {where}: {first['msg']}. "
            "Give the file that GitHub Actions names in $GITHUB_EVENT_PATH, and its event name."
        ) from None
