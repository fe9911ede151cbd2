"""What reviews and the drift watch ask of GitHub, beside what `github.py` has."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tileport_bot.code_records import CheckRun, OwnIssue, PullHead
from tileport_bot.github import GitHub


class CodeHost(GitHub, Protocol):
    """Raises as `GitHub` does."""

    def put_check(self, repository: str, check: CheckRun) -> None: ...

    def pull_head(self, repository: str, number: int) -> PullHead: ...

    def mark_ready(self, repository: str, number: int) -> None:
        """A draft becomes a pull request that waits for review."""
        ...

    def fetch_pull(self, repository: str, checkout: Path, number: int) -> str:
        """Brings the commits of a pull request into the clone, as data; the commit it stands at."""
        ...

    def fetch_branch(self, repository: str, checkout: Path, branch: str) -> str:
        """The same for a branch."""
        ...

    def own_issues(self, repository: str) -> tuple[OwnIssue, ...]:
        """Open or closed, those that were opened by us."""
        ...

    def create_issue(self, repository: str, title: str, body: str, label: str) -> int: ...

    def edit_issue(self, repository: str, number: int, *, body: str, is_open: bool) -> None: ...

    def put_label(self, repository: str, number: int, label: str) -> None: ...
