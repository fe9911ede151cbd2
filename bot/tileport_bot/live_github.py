"""GitHub itself, through PyGithub and git.

POSTs are never repeated by the library: a 502 may hide a write that was made. Whoever calls again finds what
is there by its natural key (our marker, the branch) instead.
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import github
import requests
from github.GithubRetry import GithubRetry

from tileport_bot.github import Comment, NewPullRequest, PullRequest
from tileport_bot.permissions import Permission
from tileport_skill.errors import MachineryError

P = ParamSpec("P")
T = TypeVar("T")


def _said(call: Callable[P, T]) -> Callable[P, T]:
    """GitHub's refusals as errors of ours, with what it said."""

    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except github.GithubException as error:
            message = error.data.get("message", "") if isinstance(error.data, dict) else ""
            raise MachineryError(
                f"GitHub answered {error.status} to {call.__name__}: {message or 'no message'}. "
                "See that the token may do this, then send the event again."
            ) from error
        except requests.RequestException as error:
            raise MachineryError(
                f"GitHub gave no answer to {call.__name__}: {error}. "
                "See that it can be reached, then send the event again."
            ) from error

    return wrapped


class LiveGitHub:
    """Implements `tileport_bot.github.GitHub`."""

    def __init__(
        self,
        token: str,
        *,
        login: str,
        api: str = "https://api.github.com",
        web: str = "https://github.com",
        write_pause: float = 1,
    ) -> None:
        """`login` is whom the token writes as, `github-actions[bot]` for a workflow's own; git speaks to `web`.

        GitHub asks for a second between writes, `write_pause`.
        """
        self._token = token
        self._login = login
        self._web = web
        retry = GithubRetry(total=5, allowed_methods={"GET"}, max_rate_limit_wait=600)
        self._github = github.Github(
            auth=github.Auth.Token(token), base_url=api, retry=retry, lazy=True, seconds_between_writes=write_pause
        )

    @_said
    def permission(self, repository: str, login: str) -> Permission:
        found = self._github.get_repo(repository).get_collaborator_permission(login)
        return Permission(found) if found in list(Permission) else Permission.NONE

    @_said
    def own_comments(self, repository: str, issue: int) -> tuple[Comment, ...]:
        comments = self._github.get_repo(repository).get_issue(issue).get_comments()
        return tuple(Comment(c.id, c.body or "") for c in comments if c.user.login == self._login)

    @_said
    def read_comment(self, repository: str, comment: int) -> str:
        _, data = self._github.requester.requestJsonAndCheck("GET", f"/repos/{repository}/issues/comments/{comment}")
        return str(data["body"] or "")

    @_said
    def react(self, repository: str, issue: int, comment: int | None) -> None:
        where = f"comments/{comment}" if comment else str(issue)
        self._github.requester.requestJsonAndCheck(
            "POST", f"/repos/{repository}/issues/{where}/reactions", input={"content": "eyes"}
        )

    @_said
    def create_comment(self, repository: str, issue: int, body: str) -> int:
        return self._github.get_repo(repository).get_issue(issue).create_comment(body).id

    @_said
    def edit_comment(self, repository: str, comment: int, body: str) -> None:
        self._github.requester.requestJsonAndCheck(
            "PATCH", f"/repos/{repository}/issues/comments/{comment}", input={"body": body}
        )

    def push_branch(self, repository: str, checkout: Path, branch: str, commit: str) -> None:
        """The token goes to git in its environment: arguments can be read by every process."""
        url = f"{self._web}/{repository}.git"
        secret = base64.b64encode(f"x-access-token:{self._token}".encode()).decode()
        environment = {
            **os.environ,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{self._web}/.extraheader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {secret}",
        }
        done = subprocess.run(
            [*("git", "-C", checkout, "push"), url, f"{commit}:refs/heads/{branch}"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode:
            raise MachineryError(
                f"git could not push {branch} to {repository}: {done.stderr.strip()[-500:]}. "
                "If the branch exists with other commits, delete it, then send the event again."
            )

    @_said
    def find_pull_request(self, repository: str, branch: str) -> PullRequest | None:
        head = f"{repository.partition('/')[0]}:{branch}"
        pulls = self._github.get_repo(repository).get_pulls(state="open", head=head)
        return next((PullRequest(pull.number, pull.html_url, pull.body or "") for pull in pulls), None)

    @_said
    def create_pull_request(self, repository: str, new: NewPullRequest) -> PullRequest:
        pull = self._github.get_repo(repository).create_pull(
            base=new.base, head=new.branch, title=new.title, body=new.body, draft=new.draft
        )
        return PullRequest(pull.number, pull.html_url, pull.body or "")

    @_said
    def edit_pull_request(self, repository: str, number: int, title: str, body: str) -> None:
        self._github.get_repo(repository).get_pull(number).edit(title=title, body=body)
