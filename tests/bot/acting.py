"""`tileport-bot` as a workflow finds it on the PATH, with a judge and a driver that do as they are told.

Run by act: everything else, the commands, GitHub and git among it, is what it is in earnest. Each call is noted with
what it could see of tokens.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from tests.bot.code_room import different, equal
from tests.bot.conftest import unproved

from tileport_bot import __main__ as bot
from tileport_bot import code_cli
from tileport_bot.driver import Finished
from tileport_bot.review_records import PortReview
from tileport_driver.records import Delivery, Unproved


class CommittingDriver:
    """Ends unproved, with a port that is really there."""

    def run(self, operator: str, repository: Path, attempt: int, watcher: Any) -> Finished:
        branch = f"port/{operator}"
        commit = _commit(repository, f"src/tilegym/ops/cutile_rs/{operator}.py")
        finished = unproved()
        assert isinstance(finished.outcome, Unproved)
        outcome = replace(finished.outcome, delivery=Delivery(branch=branch, commit=commit))
        return replace(finished, outcome=outcome)


def judge(tree: Path, commit: str, operator: str, *, tuning: bool = False) -> PortReview:
    kernel = (tree / f"src/tilegym/ops/cutile_rs/{operator}_kernel/kernel.rs").read_text()
    return different(operator) if "wrong" in kernel else equal(operator)


def _commit(repository: Path, path: str) -> str:
    """A commit on HEAD with one more file; neither work tree nor index are touched."""

    def git(*words: str, text: str | None = None, **environment: str) -> str:
        settings = ["-c", "user.name=Tileport", "-c", "user.email=tileport@users.noreply.invalid"]
        done = subprocess.run(
            ["git", "-C", str(repository), *settings, *words],
            input=text,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    index = {"GIT_INDEX_FILE": str(repository / ".git" / "port-index")}
    git("read-tree", "HEAD", **index)
    blob = git("hash-object", "-w", "--stdin", text="# a port\n")
    git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", **index)
    return git("commit-tree", git("write-tree", **index), "-p", "HEAD", "-m", f"Port {path}")


def main() -> None:
    words = sys.argv[1:]
    held = sorted(name for name in ("GITHUB_TOKEN", "TOKEN", "ANTHROPIC_API_KEY") if os.environ.get(name))
    with Path(os.environ["ACTING_LOG"]).open("a") as log:
        log.write(json.dumps([words[0], held]) + "\n")
    bot.judge_here = code_cli.judge_here = lambda progress, stop: judge  # type: ignore[assignment]
    typer.main.get_command(bot.app)(words, obj=CommittingDriver())


if __name__ == "__main__":
    main()
