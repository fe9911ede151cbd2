"""The code side of the live adapter: check runs with their annotations, issues of our own, commits to read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tileport_bot.code_records import Annotation, CheckRun, OwnIssue, PullHead
from tileport_bot.credentials import Credentials
from tileport_bot.remote import Remote

T = TypeVar("T")
_PER_REQUEST = 50
"""GitHub takes so many annotations with one request; more are added by further ones."""
_MOST = 500
_LONGEST = 65_535
_PAGE = 100


class _Calls(Protocol):
    """What `LiveGitHub` has."""

    @property
    def login(self) -> str: ...

    @property
    def _credentials(self) -> Credentials: ...

    def remote(self, repository: str) -> Remote: ...

    def _ask(self, what: str, repository: str, call: Callable[[], T], *, repeatable: bool = True) -> T: ...

    def _get(self, repository: str, path: str, parameters: dict[str, str] | None = None) -> Any: ...

    def _send(
        self, what: str, repository: str, verb: str, path: str, data: dict[str, Any], *, repeatable: bool = False
    ) -> Any: ...

    def _safe(self, text: str) -> str: ...


class LiveCode:
    """Mixed into `LiveGitHub`, whose calls it makes."""

    def put_check(self: _Calls, repository: str, check: CheckRun) -> None:
        """Found again by name and commit among the runs of our own App: GitHub gives us no others to change."""
        listed = self._get(repository, f"/commits/{check.head}/check-runs", {"check_name": check.name})["check_runs"]
        shown = check.annotations[:_MOST]
        batches = [shown[at : at + _PER_REQUEST] for at in range(0, len(shown), _PER_REQUEST)] or [()]
        end = {"name": check.name, "status": "completed", "conclusion": check.conclusion}
        first = {**end, "output": _output(self._safe, check, batches[0])}
        mine = next((run["id"] for run in listed if run["app"] and self.login == f"{run['app']['slug']}[bot]"), None)
        # A run's annotations can be added to and never taken away, so one that has any makes way for a new run.
        if mine is not None and not any(run["output"]["annotations_count"] for run in listed if run["id"] == mine):
            self._send("put_check", repository, "PATCH", f"/check-runs/{mine}", first, repeatable=True)
            id = mine
        else:
            created = self._send("put_check", repository, "POST", "/check-runs", {**first, "head_sha": check.head})
            id = created["id"]
        for batch in batches[1:]:
            more = {"output": _output(self._safe, check, batch)}
            self._send("put_check", repository, "PATCH", f"/check-runs/{id}", more)

    def pull_head(self: _Calls, repository: str, number: int) -> PullHead:
        found = self._get(repository, f"/pulls/{number}")
        head, base = found["head"], found["base"]
        return PullHead(
            head=str(head["sha"]),
            base=str(base["ref"]),
            base_sha=str(base["sha"]),
            is_open=found["state"] == "open",
            branch=str(head["ref"]),
            link=str(found["html_url"]),
            draft=bool(found["draft"]),
        )

    def mark_ready(self: _Calls, repository: str, number: int) -> None:
        """GitHub has this in its GraphQL API alone; of one that is ready already nothing changes."""
        node = self._get(repository, f"/pulls/{number}")["node_id"]

        def mutation() -> object:
            return self._credentials.client(repository).requester.graphql_named_mutation(
                "markPullRequestReadyForReview", {"pullRequestId": node}, "pullRequest { isDraft }"
            )

        self._ask("mark_ready", repository, mutation)

    def fetch_pull(self: _Calls, repository: str, checkout: Path, number: int) -> str:
        return fetch_ref(self.remote(repository), checkout, f"refs/pull/{number}/head")

    def fetch_branch(self: _Calls, repository: str, checkout: Path, branch: str) -> str:
        return fetch_ref(self.remote(repository), checkout, f"refs/heads/{branch}")

    def own_issues(self: _Calls, repository: str) -> tuple[OwnIssue, ...]:
        found: list[OwnIssue] = []
        page: list[Any] = [None] * _PAGE
        number = 0
        while len(page) == _PAGE:
            number += 1
            query = {"state": "all", "creator": self.login, "per_page": str(_PAGE), "page": str(number)}
            page = self._get(repository, "/issues", query)
            found += [
                OwnIssue(int(one["number"]), str(one["title"]), str(one["body"] or ""), one["state"] == "open")
                for one in page
                if "pull_request" not in one
            ]
        return tuple(found)

    def create_issue(self: _Calls, repository: str, title: str, body: str, label: str) -> int:
        text = {"title": title, "body": self._safe(body), "labels": [label]}
        return int(self._send("create_issue", repository, "POST", "/issues", text)["number"])

    def edit_issue(self: _Calls, repository: str, number: int, *, body: str, is_open: bool) -> None:
        text = {"body": self._safe(body), "state": "open" if is_open else "closed"}
        self._send("edit_issue", repository, "PATCH", f"/issues/{number}", text, repeatable=True)

    def put_label(self: _Calls, repository: str, number: int, label: str) -> None:
        self._send("put_label", repository, "POST", f"/issues/{number}/labels", {"labels": [label]}, repeatable=True)


def fetch_ref(remote: Remote, checkout: Path, ref: str) -> str:
    """Kept under a name of our own, so that nothing is pruned while it is read; nothing is checked out."""
    kept = f"refs/tileport/{ref.removeprefix('refs/')}"
    remote.git(checkout, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote.url, f"+{ref}:{kept}")
    return remote.git(checkout, "rev-parse", kept)


def _output(safe: Any, check: CheckRun, annotations: tuple[Annotation, ...]) -> dict[str, Any]:
    said = [
        {
            "path": one.path,
            "start_line": one.line,
            "end_line": one.line,
            "annotation_level": one.level,
            "title": one.title[:255],
            "message": safe(one.message)[:4000],
        }
        for one in annotations
    ]
    return {"title": check.title, "summary": safe(check.summary)[:_LONGEST], "annotations": said}
