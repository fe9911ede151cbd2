"""git with a server: the token goes through the environment, as every process can read another's arguments."""

from __future__ import annotations

import base64
import os
import re
import subprocess
from pathlib import Path

from tileport_bot.github import BaseState
from tileport_driver.deliver import TRAILER
from tileport_driver.git import AUTHOR
from tileport_skill.errors import MachineryError

_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "gc.auto": "0",
    "protocol.ext.allow": "never",
    "credential.helper": "",
    "http.followRedirects": "initial",
    "safe.directory": "*",
}


class GitRefused(MachineryError):
    """git's own words."""

    @property
    def is_about_token(self) -> bool:
        return bool(re.search(r"could not read Username|Authentication failed|error: 40[13]", str(self)))


class Remote:
    """One repository on one server."""

    def __init__(self, server: str, repository: str, token: str | None) -> None:
        self.url = f"{server.rstrip('/')}/{repository}.git"
        self._token = token
        self._header = f"http.{server.rstrip('/')}/.extraHeader"

    def git(self, checkout: Path | None, *args: str, timeout: float = 600) -> str:
        """Raises `GitRefused`; the token is never in its text."""
        where = ("-C", str(checkout)) if checkout is not None else ()
        try:
            done = subprocess.run(
                ("git", *where, *args),
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitRefused(f"git {args[0]} did not end within {timeout:.0f} s; try again.") from error
        if done.returncode:
            raise GitRefused(f"git {args[0]}: {done.stderr.decode(errors='replace').strip()[-500:]}")
        return done.stdout.decode(errors="replace").strip()

    def tip(self, branch: str) -> str | None:
        """The commit a branch of the server stands at."""
        line = self.git(None, "ls-remote", self.url, f"refs/heads/{branch}")
        return line.split()[0] if line else None

    def fetch(self, checkout: Path, branch: str) -> str:
        """Brings a branch here; its commit."""
        kept = f"refs/tileport/remote/{branch}"
        self.git(
            checkout, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.url, f"+refs/heads/{branch}:{kept}"
        )
        return self.git(checkout, "rev-parse", kept)

    def push(self, checkout: Path, branch: str, commit: str) -> str:
        """The branch that stands at `commit` afterwards. A commit of ours may make way, a person's never does."""
        for name in (branch, *(f"{branch}-{number}" for number in range(2, 10))):
            there = self.tip(name)
            if there == commit:
                return name
            if there is not None and not self._is_ours(checkout, name):
                continue
            lease = f"--force-with-lease=refs/heads/{name}:{there or ''}"
            self.git(checkout, "push", "--quiet", lease, self.url, f"{commit}:refs/heads/{name}")
            return name
        raise MachineryError(f"{branch} and eight more names beside it hold other people's work; delete some of them.")

    def base_state(self, checkout: Path, base: str, commit: str, reference: str) -> BaseState:
        now = self.fetch(checkout, base)
        parent = self.git(checkout, "rev-parse", f"{commit}^")
        if now == parent:
            return BaseState(moved=False)
        return BaseState(
            moved=True,
            conflicts=self._conflicts(checkout, now, commit),
            reference_changed=bool(
                reference and self.git(checkout, "diff", "--name-only", parent, now, "--", reference)
            ),
        )

    def _conflicts(self, checkout: Path, base: str, commit: str) -> tuple[str, ...]:
        merge = ("git", "-C", str(checkout), "merge-tree", "--write-tree", "--name-only", "--no-messages", base, commit)
        done = subprocess.run(
            merge, env=self._environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return ()
        if done.returncode != 1:
            raise GitRefused(f"git merge-tree: {done.stderr.strip()[-500:]}")
        return tuple(done.stdout.splitlines()[1:])

    def _is_ours(self, checkout: Path, branch: str) -> bool:
        """Whether the last commit was made by us and changed by nobody: an amended one keeps the trailer."""
        commit = self.fetch(checkout, branch)
        committer, _, message = self.git(checkout, "log", "-1", "--format=%ce%n%B", commit).partition("\n")
        return committer == AUTHOR[1] and TRAILER in message

    def _environment(self) -> dict[str, str]:
        settings = dict(_SETTINGS)
        if self._token:
            secret = base64.b64encode(f"x-access-token:{self._token}".encode()).decode()
            settings[self._header] = f"Authorization: Basic {secret}"
        numbered = {f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(settings)}
        numbered |= {f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(settings.values())}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {
            **kept,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": str(len(settings)),
            **numbered,
        }
