"""One of the server's processes for the bench: the real application or worker, on a GitHub that is a database file.

Arguments: `web`, `deliveries` or `requests`, and the address. `BENCH` names the folder; every attempt writes a line to
`trace` in it.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from tileport_bot.driver import Finished, Watch
from tileport_bot.github import BaseState, Comment, LabelSet, NewPullRequest, OpenIssue, PullRequest
from tileport_bot.permissions import Permission
from tileport_bot.status import Stage
from tileport_driver.records import Refused

FOLDER = Path(os.environ.get("BENCH", "."))
OPERATORS = 30
KERNEL = """
@ct.kernel
def {name}_kernel(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)


@register_impl("{name}", backend="cutile")
def {name}(x):
    return x
"""


class FileGitHub:
    """Comments and nothing else, in one SQLite file that outlives a killed process."""

    login, starts_checks = "tileport[bot]", True

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, timeout=60)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS comments (id INTEGER PRIMARY KEY, repository TEXT, issue INTEGER, body TEXT)"
        )
        self._database.execute("CREATE INDEX IF NOT EXISTS place ON comments (repository, issue)")

    def permission(self, repository: str, login: str) -> Permission:
        return Permission.WRITE

    def own_comments(self, repository: str, issue: int) -> tuple[Comment, ...]:
        rows = self._database.execute(
            "SELECT id, body FROM comments WHERE repository = ? AND issue = ? ORDER BY id", (repository, issue)
        )
        return tuple(Comment(*row) for row in rows)

    def read_comment(self, repository: str, comment: int) -> str:
        return str(self._database.execute("SELECT body FROM comments WHERE id = ?", (comment,)).fetchone()[0])

    def create_comment(self, repository: str, issue: int, body: str) -> int:
        values = (repository, issue, body)
        done = self._database.execute("INSERT INTO comments (repository, issue, body) VALUES (?, ?, ?)", values)
        return int(done.lastrowid or 0)

    def edit_comment(self, repository: str, comment: int, body: str) -> None:
        self._database.execute("UPDATE comments SET body = ? WHERE id = ?", (body, comment))

    def react(self, repository: str, issue: int, comment: int | None) -> None: ...

    def push_branch(self, repository: str, checkout: Path, branch: str, commit: str) -> str:
        raise AssertionError("nothing is delivered here")

    def base_state(self, repository: str, checkout: Path, base: str, commit: str, reference: str) -> BaseState:
        raise AssertionError("nothing is delivered here")

    def find_pull_request(self, repository: str, branch: str) -> PullRequest | None:
        return None

    def create_pull_request(self, repository: str, new: NewPullRequest) -> PullRequest:
        raise AssertionError("nothing is delivered here")

    def edit_pull_request(self, repository: str, number: int, title: str, body: str) -> None: ...

    def open_issues(self, repository: str) -> tuple[OpenIssue, ...]:
        return ()

    def label_set(self, repository: str, issue: int, label: str) -> LabelSet | None:
        return None

    def default_branch(self, repository: str) -> str:
        return "main"


class TracingDriver:
    """An attempt is one line: which repository, which operator."""

    def run(self, operator: str, repository: Path, attempt: int, watch: Watch) -> Finished:
        line, path = f"{repository.name}/{operator}", FOLDER / "trace"
        begun = watch.attempt is not None
        if not begun:
            watch.begun(f"{operator}-{repository.name}")
        # One that was killed between the two has its name and no folder yet: it is begun now.
        if not begun or not path.is_file() or line not in path.read_text().split():
            with path.open("a") as trace:
                trace.write(f"{line}\n")
        watch.stage(Stage.RUNNING)
        return Finished(outcome=Refused(reason="The bench ports nothing."))


def checkout(repository: str) -> Path:
    """The same small checkout for all, under each one's name."""
    root = FOLDER / "checkouts" / repository.partition("/")[2]
    if not root.is_symlink():
        root.parent.mkdir(exist_ok=True)
        root.symlink_to(made(FOLDER / "checkout"))
    return root


def made(root: Path) -> Path:
    if not root.exists():
        part = root.with_suffix(f".{os.getpid()}")
        (part / "src/tilegym/ops/cutile_rs").mkdir(parents=True)
        (part / "src/tilegym/ops/cutile").mkdir()
        for number in range(OPERATORS):
            (part / f"src/tilegym/ops/cutile/op{number}.py").write_text(KERNEL.format(name=f"op{number}"))
        part.rename(root)
    return root


def run(what: str, address: str) -> Any:
    if what == "web":
        from tileport_bot.serve import application

        served = application((os.environ["SECRET"],))
        return uvicorn.run(served, port=urlsplit(address).port or 0, log_level="warning", access_log=False)
    from tileport_bot.work import Shop, step_back, work_on_deliveries, work_on_requests  # more than the server needs

    step_back()
    shop = Shop(github=FileGitHub(FOLDER / "github.sqlite"), checkout=checkout, driver=TracingDriver())
    return (work_on_deliveries if what == "deliveries" else work_on_requests)(shop)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
