"""Clones of the repositories the server is for: one each, at the newest commit of the default branch."""

from __future__ import annotations

import fcntl
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tileport_bot.live_github import LiveGitHub
from tileport_bot.remote import Remote
from tileport_driver.host.paths import state_dir

_FRESH_SECONDS = 20.0


class Clones:
    """Below the state folder, at the same path for every worker: attempts are counted by it."""

    def __init__(self, github: LiveGitHub, folder: Path | None = None) -> None:
        self._github = github
        self._folder = folder or state_dir() / "clones"
        self._fetched: dict[str, float] = {}

    def fresh(self, repository: str) -> Path:
        """The clone, fetched if that was not done a moment ago. Its work tree is the default branch, detached."""
        path = self._folder / repository.replace("/", "+")
        if time.monotonic() - self._fetched.get(repository, float("-inf")) < _FRESH_SECONDS:
            return path
        with _alone(path):
            branch = self._github.default_branch(repository)
            self._github.with_git(repository, lambda remote: _bring(remote, path, branch))
        self._fetched[repository] = time.monotonic()
        return path


def _bring(remote: Remote, path: Path, branch: str) -> None:
    if not (path / ".git").exists():
        part = path.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        remote.git(None, "clone", "--quiet", "--no-checkout", "--no-tags", remote.url, str(part))
        part.rename(path)
    commit = remote.fetch(path, branch)
    # Forced: nobody works in this tree, and whatever a stopped process left in it is not wanted.
    remote.git(path, "checkout", "--quiet", "--force", "--detach", commit)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
