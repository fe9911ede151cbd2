"""`tileport-bot demo`: the whole way on embedded defaults, from a GitHub event to what GitHub would show.

The target is TileGym as its wheel ships it, made into a git repository with our test file for the operator; the
conversation is the one scripted for this project. Nothing else is special: the same handling as for a real event.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from uv import find_uv_bin

from tileport_bot.github import DryRunGitHub
from tileport_bot.handle import Bot, Handled, handle, port_now
from tileport_bot.local import LocalDriver
from tileport_bot.memory import IssueMemory
from tileport_bot.permissions import Permission
from tileport_driver.git import run_git
from tileport_driver.host.paths import cache_dir, containers_dir, repository_root
from tileport_driver.records import EXIT_CODES
from tileport_skill.errors import MachineryError

OPERATOR = "silu_and_mul"


def demo_folder() -> Path:
    """Everything the demo leaves, inside Tileport's own checkout and ignored by git."""
    return repository_root() / "build" / "demo"


def demo_script() -> Path:
    """The conversation that the demo replays."""
    return repository_root() / "tests" / "scripts" / OPERATOR


def make_target(folder: Path) -> Path:
    """TileGym from its wheel as a git repository with one commit, made anew at `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_wheel(), folder, ignore=shutil.ignore_patterns("*.dist-info", "bin", ".lock", "__pycache__"))
    _add_cases(folder)
    run_git("init", "--quiet", "--initial-branch=main", str(folder))
    run_git("-C", str(folder), "add", "-A")
    run_git("-C", str(folder), "commit", "--quiet", "--no-verify", "-m", "TileGym 1.5.1 as its wheel ships it")
    return folder


def labeled_event(number: int = 7) -> dict[str, object]:
    """What GitHub sends when somebody puts the label on an issue, as far as it matters."""
    person = {"login": "a-maintainer", "id": 1, "type": "User"}
    label = {"id": 1, "name": f"port: {OPERATOR}", "color": "76b900"}
    return {
        "action": "labeled",
        "label": label,
        "issue": {
            "number": number,
            "title": f"Port {OPERATOR} to cuTile Rust",
            "body": None,
            "state": "open",
            "user": person,
            "labels": [label],
        },
        "repository": {"full_name": "example/TileGym", "default_branch": "main", "owner": person},
        "sender": person,
    }


def run_demo(driver: LocalDriver, target: Path, out: Path) -> Handled:
    """Handles the event as `tileport-bot handle-event --dry-run` does."""
    event = out.parent / "event.json"
    event.parent.mkdir(parents=True, exist_ok=True)
    event.write_text(json.dumps(labeled_event(), indent=2), encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    github = DryRunGitHub(out, permission=Permission.WRITE, say=print)
    bot = Bot(github=github, driver=driver, memory=IssueMemory(github), checkout=target, start=port_now)
    return handle(bot, "issues", json.loads(event.read_text()))


def exit_status(handled: Handled) -> int:
    """The demo ends well when the port is delivered, proved or not: there is no GPU to prove it on."""
    kind = handled.line.partition(":")[0]
    return 0 if kind in ("ported", "unproved") else EXIT_CODES.get(kind, 1)


def _wheel() -> Path:
    """The unpacked wheel, pinned by hash, fetched once into the cache."""
    folder = cache_dir() / "tilegym-1.5.1"
    if not folder.is_dir():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        command = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", str(part)]
        command += ["-r", str(containers_dir() / "tilegym.lock")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MachineryError(f"TileGym's wheel could not be fetched; is a package index reachable?\n{done.stderr}")
        part.rename(folder)
    return folder


def _cases() -> Path:
    return repository_root() / "skill" / "tileport_skill" / "cases"


def _add_cases(folder: Path) -> None:
    """The wheel has no tests; the operator's is ours, in TileGym's form."""
    shutil.copytree(_cases() / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
