"""The GitHub port: the few calls the bot makes, and the adapter that keeps every write in a folder instead.

`live_github.py` holds the adapter that talks to GitHub. There is no other platform, so nothing more is
abstracted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tileport_bot.dry_code import DryRunCode
from tileport_bot.permissions import Permission
from tileport_skill.errors import MachineryError


class Gone(MachineryError):
    """What was asked for is not there, or no longer: 404 or 410."""


class Refusal(MachineryError):
    """GitHub will not have it (401, 403, 422 and their like), and asking again would change nothing."""


class Moved(MachineryError):
    """The repository was renamed, and GitHub would have the write sent to its new name."""


class Unsure(MachineryError):
    """No answer came, or none that says whether the write was made: look before writing again."""


class Later(MachineryError):
    """GitHub asks to be left alone for longer than one waits: the same is done again after `seconds`."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__(text)
        self.seconds = seconds


class Comment(NamedTuple):
    id: int
    body: str


class PullRequest(NamedTuple):
    number: int
    link: str
    """For a Markdown link beside it: an address, or in a dry run the file that shows it."""
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPullRequest:
    branch: str
    base: str
    title: str
    body: str
    draft: bool


class OpenIssue(NamedTuple):
    number: int
    labels: tuple[str, ...]


class LabelSet(NamedTuple):
    """That a label was put on an issue, as GitHub remembers it."""

    login: str
    is_bot: bool
    at: str


class BaseState(NamedTuple):
    """Where the branch a port is to be merged into stands now."""

    moved: bool
    """It has other commits than the one that was ported and judged."""
    conflicts: tuple[str, ...] = ()
    """Paths that do not merge."""
    reference_changed: bool = False
    """The port equals a reference that is no longer the one there."""


class GitHub(Protocol):
    """Raises `MachineryError`, or one of its kinds above, when GitHub cannot be reached or refuses.

    `repository` is `owner/name`.
    """

    @property
    def login(self) -> str:
        """Whom the bot writes as."""
        ...

    @property
    def starts_checks(self) -> bool:
        """Whether what it writes starts the repository's workflows; a workflow's own token does not."""
        ...

    def permission(self, repository: str, login: str) -> Permission: ...

    def own_comments(self, repository: str, issue: int) -> tuple[Comment, ...]:
        """The comments that we wrote ourselves, oldest first: anyone could write our markers into theirs."""
        ...

    def read_comment(self, repository: str, comment: int) -> str: ...

    def react(self, repository: str, issue: int, comment: int | None) -> None:
        """👀 on the comment, or on the issue itself; once, however often it is called."""
        ...

    def create_comment(self, repository: str, issue: int, body: str) -> int: ...

    def edit_comment(self, repository: str, comment: int, body: str) -> None: ...

    def push_branch(self, repository: str, checkout: Path, branch: str, commit: str) -> str:
        """The branch that stands at `commit` afterwards: `branch`, or one beside it if that holds a person's work."""
        ...

    def base_state(self, repository: str, checkout: Path, base: str, commit: str, reference: str) -> BaseState:
        """How `base` has moved since the parent of `commit`; `reference` is the path the port was made from."""
        ...

    def open_issues(self, repository: str) -> tuple[OpenIssue, ...]:
        """Issues, without pull requests, that have any label."""
        ...

    def label_set(self, repository: str, issue: int, label: str) -> LabelSet | None:
        """Who put the label on, the last time."""
        ...

    def default_branch(self, repository: str) -> str: ...

    def find_pull_request(self, repository: str, branch: str) -> PullRequest | None:
        """The open pull request from `branch` of the repository itself."""
        ...

    def create_pull_request(self, repository: str, new: NewPullRequest) -> PullRequest: ...

    def edit_pull_request(self, repository: str, number: int, title: str, body: str) -> None: ...


class DryRunGitHub(DryRunCode):
    """Writes nothing to GitHub: each write is a JSON file in `folder`, what it leaves is Markdown beside it.

    The folder is its memory, so that a second run finds the comments and pull requests of the first.
    """

    def __init__(self, folder: Path, *, permission: Permission, say: Callable[[str], None]) -> None:
        super().__init__()
        self._folder = folder
        self._permission = permission
        self._say = say
        self._writes: list[dict[str, Any]] = []
        self._comments: dict[int, tuple[str, int, str]] = {}
        self._pulls: dict[int, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("[0-9][0-9][0-9]-*.json")):
            self._apply(json.loads(path.read_text(encoding="utf-8")))

    @property
    def login(self) -> str:
        return "tileport[bot]"

    @property
    def starts_checks(self) -> bool:
        return True

    def permission(self, repository: str, login: str) -> Permission:
        return self._permission

    def own_comments(self, repository: str, issue: int) -> tuple[Comment, ...]:
        found = sorted(self._comments.items())
        return tuple(Comment(id, body) for id, (where, number, body) in found if (where, number) == (repository, issue))

    def read_comment(self, repository: str, comment: int) -> str:
        return self._comments[comment][2]

    def react(self, repository: str, issue: int, comment: int | None) -> None:
        write = {
            "write": "react",
            "repository": repository,
            "issue": issue,
            "comment": comment,
            "content": "eyes",
        }
        if write not in self._writes:
            on = f"comment {comment}" if comment else f"{repository}#{issue}"
            self._keep(write, f"react with 👀 on {on}")

    def create_comment(self, repository: str, issue: int, body: str) -> int:
        id = len(self._comments) + 1
        write = {"write": "create comment", "repository": repository, "issue": issue, "id": id, "body": body}
        self._keep(write, f"comment on {repository}#{issue}: {_title(body)}")
        return id

    def edit_comment(self, repository: str, comment: int, body: str) -> None:
        write = {"write": "edit comment", "repository": repository, "id": comment, "body": body}
        self._keep(write, f"edit comment {comment}: {_title(body)}")

    def push_branch(self, repository: str, checkout: Path, branch: str, commit: str) -> str:
        write = {"write": "push branch", "repository": repository, "branch": branch, "commit": commit}
        self._keep(write, f"push {branch} at {commit[:12]} to {repository}")
        return branch

    def base_state(self, repository: str, checkout: Path, base: str, commit: str, reference: str) -> BaseState:
        return BaseState(moved=False)

    def open_issues(self, repository: str) -> tuple[OpenIssue, ...]:
        return ()

    def label_set(self, repository: str, issue: int, label: str) -> LabelSet | None:
        return None

    def default_branch(self, repository: str) -> str:
        return "main"

    def find_pull_request(self, repository: str, branch: str) -> PullRequest | None:
        for number, pull in self._pulls.items():
            if (pull["repository"], pull["branch"]) == (repository, branch):
                return PullRequest(number, f"pull-request-{number}.md", pull["body"])
        return None

    def create_pull_request(self, repository: str, new: NewPullRequest) -> PullRequest:
        number = len(self._pulls) + 1
        write = {
            "write": "create pull request",
            "repository": repository,
            "number": number,
            "branch": new.branch,
            "base": new.base,
            "draft": new.draft,
            "title": new.title,
            "body": new.body,
        }
        self._keep(write, f"open a {'draft ' if new.draft else ''}pull request from {new.branch}: {new.title}")
        return PullRequest(number, f"pull-request-{number}.md", new.body)

    def edit_pull_request(self, repository: str, number: int, title: str, body: str) -> None:
        write = {
            "write": "edit pull request",
            "repository": repository,
            "number": number,
            "title": title,
            "body": body,
        }
        self._keep(write, f"edit pull request {number}: {title}")

    def _keep(self, write: dict[str, Any], line: str) -> None:
        name = f"{len(self._writes) + 1:03d}-{write['write'].replace(' ', '-')}.json"
        (self._folder / name).write_text(json.dumps(write, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        self._apply(write)
        if "comment" in write["write"]:
            (self._folder / f"comment-{write['id']}.md").write_text(write["body"], encoding="utf-8")
        elif "pull request" in write["write"]:
            pull = self._pulls[write["number"]]
            text = f"# {pull['title']}\n\n{_pull_line(pull)}\n\n{pull['body']}"
            (self._folder / f"pull-request-{write['number']}.md").write_text(text, encoding="utf-8")
        self._say(f"[dry run] {line}")

    def _apply(self, write: dict[str, Any]) -> None:
        self._writes.append(write)
        match write["write"]:
            case "create comment":
                self._comments[write["id"]] = (write["repository"], write["issue"], write["body"])
            case "edit comment":
                repository, issue, _ = self._comments[write["id"]]
                self._comments[write["id"]] = (repository, issue, write["body"])
            case "create pull request":
                self._pulls[write["number"]] = write
            case "edit pull request":
                pull = self._pulls[write["number"]]
                self._pulls[write["number"]] = {**pull, "title": write["title"], "body": write["body"]}


def _title(body: str) -> str:
    """The first line that GitHub would show."""
    lines = (line.strip() for line in body.splitlines())
    return next((line.lstrip("# ") for line in lines if line and not line.startswith("<!--")), "")[:100]


def _pull_line(pull: dict[str, Any]) -> str:
    kind = "Draft pull request" if pull["draft"] else "Pull request"
    return f"*{kind}: `{pull['branch']}` into `{pull['base']}`*"
