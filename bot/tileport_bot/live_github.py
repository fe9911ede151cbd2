"""GitHub itself, through PyGithub and git.

POSTs are never repeated blindly: a 502 may hide a write that was made. Whoever calls again finds what is there by its
natural key (our marker, the branch) instead.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tileport_bot.credentials import API, WORKFLOW_LOGIN, Credentials, TokenCredentials
from tileport_bot.github import (
    BaseState,
    Comment,
    Gone,
    LabelSet,
    Moved,
    NewPullRequest,
    OpenIssue,
    PullRequest,
    Refusal,
)
from tileport_bot.live_code import LiveCode
from tileport_bot.patience import Patience
from tileport_bot.permissions import Permission, Permissions
from tileport_bot.remote import GitRefused, Remote
from tileport_driver.broker.masking import Masks
from tileport_skill.errors import MachineryError

T = TypeVar("T")
SERVER = "https://github.com"
_UNTIL_VISIBLE = (1.0, 2.0, 4.0, 8.0)
"""A head that was pushed a moment ago may not be there yet for the part of GitHub that opens pull requests."""

_SECRETS = ("ANTHROPIC_API_KEY", "TILEPORT_WEBHOOK_SECRET", "TILEPORT_APP_KEY", "GITHUB_TOKEN")


class LiveGitHub(LiveCode):
    """Implements `tileport_bot.github.GitHub`."""

    def __init__(
        self,
        credentials: str | Credentials,
        *,
        login: str = WORKFLOW_LOGIN,
        api: str = API,
        server: str = SERVER,
        patience: Patience | None = None,
        pace: float = 1.0,
    ) -> None:
        """A token as text writes as `login`, `github-actions[bot]` for a workflow's own; `server` is git's."""
        self._credentials: Credentials = (
            TokenCredentials(credentials, login=login, api=api, pace=pace)
            if isinstance(credentials, str)
            else credentials
        )
        self._server = server
        self._patience = patience or Patience()
        self._names: dict[str, str] = {}
        """Of repositories that were renamed since their event."""
        self._permissions = Permissions(self._ask_permission)

    @property
    def login(self) -> str:
        return self._ask("who we are", "", lambda: self._credentials.login)

    @property
    def starts_checks(self) -> bool:
        return self.login != WORKFLOW_LOGIN

    def permission(self, repository: str, login: str) -> Permission:
        return self._permissions.of(repository, login)

    def _ask_permission(self, repository: str, login: str) -> Permission:
        try:
            found = self._get(repository, f"/collaborators/{login}/permission")["permission"]
        except Gone:  # nobody of that name
            return Permission.NONE
        return Permission(found) if found in list(Permission) else Permission.NONE

    def own_comments(self, repository: str, issue: int) -> tuple[Comment, ...]:
        login = self.login
        found = self._pages(repository, f"/issues/{issue}/comments")
        if found and (now := self._name_in(found[0]["issue_url"])) != self._name(repository):
            # A renamed repository's pages lose their number on the way to its new name.
            self._names[repository] = now
            found = self._pages(repository, f"/issues/{issue}/comments")
        # Of a deleted account nothing but its comments is left.
        return tuple(
            Comment(int(c["id"]), str(c["body"] or "")) for c in found if c["user"] and c["user"]["login"] == login
        )

    def read_comment(self, repository: str, comment: int) -> str:
        return str(self._get(repository, f"/issues/comments/{comment}")["body"] or "")

    def react(self, repository: str, issue: int, comment: int | None) -> None:
        where = f"comments/{comment}" if comment else str(issue)
        self._send("react", repository, "POST", f"/issues/{where}/reactions", {"content": "eyes"}, repeatable=True)

    def create_comment(self, repository: str, issue: int, body: str) -> int:
        text = {"body": self._safe(body)}
        return int(self._send("create_comment", repository, "POST", f"/issues/{issue}/comments", text)["id"])

    def edit_comment(self, repository: str, comment: int, body: str) -> None:
        text = {"body": self._safe(body)}
        self._send("edit_comment", repository, "PATCH", f"/issues/comments/{comment}", text, repeatable=True)

    def push_branch(self, repository: str, checkout: Path, branch: str, commit: str) -> str:
        return self.with_git(repository, lambda remote: remote.push(checkout, branch, commit))

    def base_state(self, repository: str, checkout: Path, base: str, commit: str, reference: str) -> BaseState:
        return self.with_git(repository, lambda remote: remote.base_state(checkout, base, commit, reference))

    def remote(self, repository: str) -> Remote:
        """The repository for git, with a token that is valid now."""
        token = self._ask("a token", repository, lambda: self._credentials.token(repository))
        return Remote(self._server, repository, token)

    def with_git(self, repository: str, work: Callable[[Remote], T]) -> T:
        """`work` with the repository's remote, again with a new token where the one there was is refused."""
        try:
            return work(self.remote(repository))
        except GitRefused as refused:
            if not refused.is_about_token or not self._credentials.renew(repository):
                raise
            return work(self.remote(repository))

    def find_pull_request(self, repository: str, branch: str) -> PullRequest | None:
        head = f"{self._name(repository).partition('/')[0]}:{branch}"
        pulls = self._get(repository, "/pulls", {"state": "open", "head": head})
        return next((_pull(pull) for pull in pulls if pull["head"]["ref"] == branch), None)

    def create_pull_request(self, repository: str, new: NewPullRequest) -> PullRequest:
        text = {"title": new.title, "body": self._safe(new.body), "head": new.branch, "base": new.base}
        for delay in (*_UNTIL_VISIBLE, None):
            try:
                return _pull(
                    self._send("create_pull_request", repository, "POST", "/pulls", {**text, "draft": new.draft})
                )
            except Refusal as refusal:
                there = self.find_pull_request(repository, new.branch) if "already exists" in str(refusal) else None
                if there is not None:
                    return there
                if delay is None or "head invalid" not in str(refusal):
                    raise
                self._patience.sleep(delay)
        raise MachineryError(f"{new.branch} was pushed to {repository} and did not become visible.")

    def edit_pull_request(self, repository: str, number: int, title: str, body: str) -> None:
        text = {"title": title, "body": self._safe(body)}
        self._send("edit_pull_request", repository, "PATCH", f"/pulls/{number}", text, repeatable=True)

    def open_issues(self, repository: str) -> tuple[OpenIssue, ...]:
        def issues() -> list[Any]:
            return list(self._credentials.client(repository).get_repo(repository).get_issues(state="open"))

        found = self._ask("open_issues", repository, issues)
        named = (
            (issue.number, tuple(label.name for label in issue.labels)) for issue in found if not issue.pull_request
        )
        return tuple(OpenIssue(number, labels) for number, labels in named if labels)

    def label_set(self, repository: str, issue: int, label: str) -> LabelSet | None:
        def events() -> list[Any]:
            return list(self._credentials.client(repository).get_repo(repository).get_issue(issue).get_events())

        found = self._ask("label_set", repository, events)
        put = [e for e in found if e.event == "labeled" and e.label.name == label and e.actor is not None]
        if not put:
            return None
        actor = put[-1].actor
        is_bot = actor.type != "User" or actor.login.endswith("[bot]")
        return LabelSet(actor.login, is_bot, put[-1].created_at.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def default_branch(self, repository: str) -> str:
        return str(self._get(repository, "")["default_branch"])

    def _pages(self, repository: str, path: str) -> list[Any]:
        """All of a list. Raises `Gone` where GitHub leads elsewhere, as for an issue that was transferred."""
        found: list[Any] = []
        for page in itertools.count(1):
            part = self._get(repository, path, {"per_page": "100", "page": str(page)})
            if not isinstance(part, list):
                raise Gone(f"{repository}{path} is no longer there: it was moved.")
            found += part
            if len(part) < 100:
                return found
        raise AssertionError("unreachable")

    def _name(self, repository: str) -> str:
        return self._names.get(repository, repository)

    def _name_in(self, url: str) -> str:
        """`owner/name` of an address of the API."""
        return "/".join(url.partition("/repos/")[2].split("/")[:2])

    def _get(self, repository: str, path: str, parameters: dict[str, str] | None = None) -> Any:
        return self._call(path or "repository", repository, "GET", path, parameters=parameters, repeatable=True)

    def _send(
        self, what: str, repository: str, verb: str, path: str, data: dict[str, Any], *, repeatable: bool = False
    ) -> Any:
        return self._call(what, repository, verb, path, data=data, repeatable=repeatable)

    def _call(
        self,
        what: str,
        repository: str,
        verb: str,
        path: str,
        *,
        parameters: dict[str, str] | None = None,
        data: dict[str, Any] | None = None,
        repeatable: bool,
    ) -> Any:
        def call() -> Any:
            requester = self._credentials.client(repository).requester
            where = f"/repos/{self._name(repository)}{path}"
            answer = requester.requestJsonAndCheck(verb, where, parameters=parameters, input=data)[1]
            if isinstance(answer, dict) and answer.get("message") == "Moved Permanently":
                raise Moved(f"{what}: {repository} was renamed.")  # PyGithub takes a 307 for an answer
            return answer

        try:
            return self._ask(what, repository, call, repeatable=repeatable)
        except Moved:
            # Of reads PyGithub follows the new name by itself.
            self._names[repository] = str(self._get(repository, "")["full_name"])
            return self._ask(what, repository, call, repeatable=repeatable)

    def _ask(self, what: str, repository: str, call: Callable[[], T], *, repeatable: bool = True) -> T:
        return self._patience.call(what, call, repeatable=repeatable, renew=lambda: self._credentials.renew(repository))

    def _safe(self, text: str) -> str:
        """Without any key we hold, wherever it came from."""
        held = (*self._credentials.secrets(), *(os.environ.get(name, "") for name in _SECRETS))
        return Masks(secret for secret in held if len(secret) >= 8).text(text)


def _pull(data: Any) -> PullRequest:
    return PullRequest(int(data["number"]), str(data["html_url"]), str(data["body"] or ""))
