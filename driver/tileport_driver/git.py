"""git, called so that nothing in a tree, in its configuration or in a user's home can run a command.

Two kinds of repository appear here. A *trusted* repository is bare, made by us, and may be given any work tree;
the recipe (attributes switched off, no hooks, no monitors) is why the work tree can be hostile. A *target*
repository belongs to the user: it is only ever read from and given finished commits.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.errors import MachineryError

# Every conversion a `.gitattributes` in the tree could ask for, switched off at the one place that outranks it.
NO_CONVERSIONS = "* -text !eol !ident !filter !diff !merge !working-tree-encoding\n"
_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "gc.auto=0",
    "protocol.file.allow=always",
    "uploadpack.allowAnySHA1InWant=true",
    "safe.directory=*",
)
AUTHOR = ("Tileport", "tileport@users.noreply.invalid")


class GitError(MachineryError):
    """git refused; the text is git's own."""


@dataclass(frozen=True, slots=True)
class TrustedRepository:
    """A repository of ours, `git_dir`, mostly bare, working on the tree `work_tree`, which may hold anything."""

    git_dir: Path
    work_tree: Path

    def run(self, *args: str, stdin: bytes | None = None) -> bytes:
        """git with this repository and work tree; stdout as bytes. Raises `GitError`."""
        # In the work tree: `git apply` takes its paths from the current folder, whatever --work-tree says.
        where = (f"--git-dir={self.git_dir.resolve()}", f"--work-tree={self.work_tree.resolve()}")
        return run_git(*where, *args, stdin=stdin, cwd=self.work_tree)

    def write_tree(self) -> str:
        """The hash of the work tree as it stands, ignored files left out."""
        self.run("add", "-A", "--", ".")
        return self.run("write-tree").decode().strip()

    def commit_tree(self, tree: str, message: str, parent: str | None = None) -> str:
        """A commit of `tree`; authored by Tileport at a fixed date, so the same tree gives the same commit."""
        parents = ["-p", parent] if parent else []
        return self.run("commit-tree", tree, *parents, "-F", "-", stdin=message.encode()).decode().strip()


def run_git(*args: str, stdin: bytes | None = None, cwd: Path | None = None) -> bytes:
    """git with every configuration outside the command line ignored. Raises `GitError` with git's own words."""
    settings = [word for setting in _SAFE for word in ("-c", setting)]
    name, mail = AUTHOR
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": mail,
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    }
    command = ["git", *settings, *args]
    try:
        done = subprocess.run(command, input=stdin, env=environment, cwd=cwd, capture_output=True, check=False)
    except FileNotFoundError as missing:
        raise MachineryError("git is not installed. Install it: apt-get install git") from missing
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
        raise GitError(f"git {args[0] if not args[0].startswith('-') else ' '.join(args[2:3])}: {words}")
    return done.stdout


def resolve_commit(repository: Path, revision: str = "HEAD") -> str:
    """The commit `revision` names in a user's repository, 40 hex digits."""
    return run_git("-C", str(repository), "rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()


def open_trusted(git_dir: Path, work_tree: Path) -> TrustedRepository:
    """Makes (or finds again) the bare repository at `git_dir`, hardened as the module says."""
    if not (git_dir / "HEAD").exists():
        run_git("init", "--quiet", "--bare", str(git_dir))
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text(NO_CONVERSIONS)
    work_tree.mkdir(parents=True, exist_ok=True)
    return TrustedRepository(git_dir, work_tree)


def fetch_commit(trusted: TrustedRepository, repository: Path, commit: str) -> None:
    """One commit, without its history, from a user's repository into ours."""
    trusted.run(
        "fetch",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--upload-pack=git -c uploadpack.allowAnySHA1InWant=true -c safe.directory=* upload-pack",
        f"file://{repository.resolve()}",
        commit,
    )


def check_out(trusted: TrustedRepository, tree: str) -> None:
    """Makes the work tree hold exactly `tree`, bytes as stored; the work tree must be empty before."""
    trusted.run("read-tree", tree)
    trusted.run("checkout-index", "--all", "--force")
