"""A server's parts on the stand-in for GitHub, with a driver that commits what a port would be."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.bot.conftest import KERNEL, rejected, unproved
from tests.bot.fakegithub.server import FakeGitHub
from tests.bot.fakegithub.state import Issue, Repository

from tileport_bot import inbox
from tileport_bot.clones import Clones
from tileport_bot.driver import Finished, Watch
from tileport_bot.inbox import Delivery
from tileport_bot.live_github import LiveGitHub
from tileport_bot.patience import Patience
from tileport_bot.status import Record, Stage, read_record
from tileport_bot.work import Shop, work_on_deliveries, work_on_requests
from tileport_driver.git import run_git
from tileport_driver.records import Delivery as Delivered
from tileport_driver.records import Unproved

NAME = "example/TileGym"
LABEL = "port: silu_and_mul"
FILES = {
    **{f"src/tilegym/ops/cutile/{name}.py": KERNEL.format(name=name) for name in ("silu_and_mul", "rms_norm")},
    "src/tilegym/ops/cutile_rs/__init__.py": "",
}


class Killed(BaseException):
    """Stands for kill -9: nobody catches it."""


@dataclass
class CommittingDriver:
    """Goes through the stages; `rejects` attempts first, then leaves a commit as the driver would."""

    folder: Path
    rejects: int = 0
    begun: list[str] = field(default_factory=list)
    """Attempts, by name: one that is gone on with is not begun again."""
    while_running: Callable[[], object] = lambda: None
    dies_at: Stage | None = None
    ends: Callable[[Finished], Finished] = lambda finished: finished

    def run(self, operator: str, repository: Path, attempt: int, watch: Watch) -> Finished:
        name = watch.attempt
        if name is None:
            name = f"{operator}-{len(self.begun) + 1}"
            self.begun.append(name)
        watch.begun(name)
        for stage in (Stage.PREPARING, Stage.RUNNING, Stage.CAPTURED, Stage.CHECKING):
            watch.stage(stage)
            if stage is Stage.RUNNING:
                self.while_running()
            if stage is self.dies_at:
                self.dies_at = None
                raise Killed
        if self.rejects:
            self.rejects -= 1
            return rejected(self.folder / name)
        return self.ends(delivered(repository, operator, name))


def delivered(repository: Path, operator: str, attempt: str) -> Finished:
    """A branch with one commit of ours, on whatever is checked out."""
    git = ("-C", str(repository))
    blob = run_git(*git, "hash-object", "-w", "--stdin", stdin=f"the port of {operator}\n".encode()).decode().strip()
    index = repository / ".git" / "tileport-test-index"
    tree = _tree_with(repository, f"src/tilegym/ops/cutile_rs/{operator}.py", blob, index)
    said = f"Port {operator} to cuTile Rust\n\nTileport-Attempt: {attempt}\n"
    commit = run_git(*git, "commit-tree", tree, "-p", "HEAD", "-F", "-", stdin=said.encode()).decode().strip()
    run_git(*git, "update-ref", f"refs/heads/port/{operator}", commit)
    finished = unproved()
    assert isinstance(finished.outcome, Unproved)
    branch = Delivered(branch=f"port/{operator}", commit=commit)
    return replace(finished, outcome=replace(finished.outcome, delivery=branch))


def _tree_with(repository: Path, path: str, blob: str, index: Path) -> str:
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(repository), *arguments], env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("read-tree", "HEAD")
    git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    return git("write-tree")


@dataclass
class Serving:
    """What a test does as GitHub and its people, and what came of it."""

    fake: FakeGitHub
    repository: Repository
    driver: CommittingDriver
    shop: Shop

    def issue(self) -> Issue:
        return self.fake.open_issue(self.repository, "bob", "A Rust port")

    def labels(self, issue: Issue, name: str = LABEL, by: str = "alice", *, off: bool = False) -> dict[str, Any]:
        """The label is set (or taken off), and this is the event of it."""
        self.fake.world.advance(10)
        if off:
            self.fake.unlabel(self.repository, issue, name, by)
        else:
            self.fake.label(self.repository, issue, name, by)
        return self.fake.payloads.labeled(self.repository, issue, name, self.fake.user(by), off=off)

    def comments(self, issue: Issue, body: str, by: str = "alice") -> dict[str, Any]:
        self.fake.world.advance(10)
        comment = self.fake.comment(self.repository, issue, by, body)
        return self.fake.payloads.commented(self.repository, comment)

    def comes(self, payload: dict[str, Any], *, id: str | None = None) -> None:
        """A delivery is kept, as the webhook keeps it."""
        event = "issue_comment" if "comment" in payload else "issues"
        about = f"{payload['repository']['full_name']}#{payload['issue']['number']}"
        kept = Delivery(id=id or str(uuid.uuid4()), event=event, about=about, body=json.dumps(payload))
        inbox.keep([kept], time.time())

    def works(self, *payloads: dict[str, Any]) -> None:
        """All that came is handled, then all that was asked for is made."""
        for payload in payloads:
            self.comes(payload)
        work_on_deliveries(self.shop, drain=True)
        work_on_requests(self.shop, drain=True)

    def said(self, issue: Issue) -> list[str]:
        """The bot's comments in an issue."""
        comments = self.repository.comments.values()
        return [c.body for c in comments if c.issue == issue.number and c.user.login.endswith("[bot]")]

    def record(self, issue: Issue) -> Record:
        found = [record for body in self.said(issue) if (record := read_record(body))]
        assert len(found) == 1, self.said(issue)
        return found[0]

    def pulls(self) -> list[Issue]:
        return [issue for issue in self.repository.issues.values() if issue.pull]


def serving(fake: FakeGitHub, folder: Path) -> Serving:
    """The bot writes as an App would, and waits for nothing."""
    roles = {"alice": "write", "tom": "triage", "maintainer": "maintain"}
    repository = fake.add_repository(NAME, FILES, roles=roles)
    rights = {"contents": "write", "issues": "write", "pull_requests": "write", "metadata": "read"}
    token = fake.token("tileport[bot]", permissions=rights)
    patience = Patience(sleep=fake.world.advance, now=fake.world.now)
    github = LiveGitHub(token, login="tileport[bot]", api=fake.address, server=fake.address, patience=patience, pace=0)
    driver = CommittingDriver(folder / "attempts")
    shop = Shop(github=github, checkout=Clones(github).fresh, driver=driver, repositories=(NAME,))
    return Serving(fake, repository, driver, shop)
