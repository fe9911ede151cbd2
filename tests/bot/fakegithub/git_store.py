"""What the fake asks of its bare repositories, through git itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.bot.fakegithub.state import stamp

_ENVIRONMENT = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_NAME": "Fake GitHub" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "noreply@github.example" for who in ("AUTHOR", "COMMITTER")},
}


PRE_RECEIVE = """#!/bin/sh
# GitHub's refusal of workflow files from an App that may not write them.
[ "$FAKE_WORKFLOWS" = no ] || exit 0
while read -r old new ref; do
    base=$(git merge-base HEAD "$new" 2>/dev/null) || base=$(git hash-object -t tree /dev/null)
    if ! git diff --quiet "$base" "$new" -- .github/workflows; then
        echo "refusing to allow a GitHub App to create or update workflow without \\`workflows\\` permission" >&2
        exit 1
    fi
done
"""


class CommitInfo(NamedTuple):
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: str
    message: str


class Change(NamedTuple):
    status: str
    path: str
    previous: str | None
    blob: str
    added: int
    removed: int
    patch: str
    """Empty for what GitHub would not show."""


def git(folder: Path, *arguments: str, check: bool = True, text: str | None = None) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=_ENVIRONMENT, input=text, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr}")
    return done.stdout if done.returncode == 0 else ""


def make_bare(folder: Path, branch: str) -> None:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--bare", f"--initial-branch={branch}")
    # refs/pull/* are GitHub's own; a fork's commits are wanted by hash.
    for name, value in (
        ("http.receivepack", "true"),
        ("uploadpack.allowAnySHA1InWant", "true"),
        ("receive.hideRefs", "refs/pull"),
        ("gc.auto", "0"),
    ):
        git(folder, "config", name, value)
    hook = folder / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(PRE_RECEIVE)
    hook.chmod(0o755)


def head_of(repository: Path, branch: str) -> str | None:
    return resolve(repository, f"refs/heads/{branch}")


def resolve(repository: Path, name: str) -> str | None:
    return git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False).strip() or None


def branches(repository: Path) -> dict[str, str]:
    lines = git(repository, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
    return dict(line.rsplit(" ", 1) for line in lines)


def commit_info(repository: Path, sha: str) -> CommitInfo:
    text = git(repository, "show", "-s", "--format=%H%n%T%n%P%n%an%n%ae%n%at%n%B", sha)
    commit, tree, parents, author, email, at, message = text.split("\n", 6)
    return CommitInfo(commit, tree, tuple(parents.split()), author, email, stamp(float(at)), message.strip())


def commits_between(repository: Path, base: str, head: str) -> list[str]:
    return git(repository, "rev-list", "--reverse", f"{base}..{head}").split()


def merge_base(repository: Path, base: str, head: str) -> str | None:
    return git(repository, "merge-base", base, head, check=False).strip() or None


def mergeable(repository: Path, base: str, head: str) -> bool:
    done = subprocess.run(
        ["git", "merge-tree", "--write-tree", base, head],
        cwd=repository,
        env=_ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def changes(repository: Path, base: str, head: str) -> list[Change]:
    """As GitHub lists a pull request's files: from the merge base, renames found."""
    base = merge_base(repository, base, head) or base
    words = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}
    raw = git(repository, "diff", "--raw", "-z", "-M", "--no-abbrev", base, head).split("\0")
    found = []
    index = 0
    while index < len(raw) - 1:
        _, _, old, new, letter = raw[index].split(" ")
        both = letter[0] in "RC"
        previous = raw[index + 1] if both else None
        path = raw[index + 2] if both else raw[index + 1]
        index += 3 if both else 2
        added, removed, patch = _counted(repository, base, head, [path, *([previous] if previous else [])])
        blob = old if letter[0] == "D" else new
        found.append(Change(words[letter[0]], path, previous, blob, added, removed, patch))
    return found


def _counted(repository: Path, base: str, head: str, paths: list[str]) -> tuple[int, int, str]:
    done = subprocess.run(
        ["git", "diff", "-M", base, head, "--", *paths],
        cwd=repository,
        env=_ENVIRONMENT,
        capture_output=True,
        check=True,
    )
    text = done.stdout.decode("utf-8", "replace")
    at = text.find("\n@@ ")
    patch = text[at + 1 :].rstrip("\n") if at >= 0 else ""
    lines = patch.splitlines()
    return sum(x.startswith("+") for x in lines), sum(x.startswith("-") for x in lines), patch


def read_file(repository: Path, sha: str, path: str) -> tuple[str, bytes] | None:
    """The blob's hash and its bytes."""
    blob = git(repository, "rev-parse", "--verify", "--quiet", f"{sha}:{path}", check=False).strip()
    if not blob or git(repository, "cat-file", "-t", blob).strip() != "blob":
        return None
    done = subprocess.run(
        ["git", "cat-file", "blob", blob], cwd=repository, env=_ENVIRONMENT, capture_output=True, check=True
    )
    return blob, done.stdout
