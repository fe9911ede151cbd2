"""A pull request's commit as a tree to read: nothing in it is run, and no link in it leads anywhere.

Whoever opens a pull request decides every byte of it. So what would make reading dangerous, links and nested
repositories, is looked for in git's own listing before a single file is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tileport_driver.git import NO_CONVERSIONS, GitError, TrustedRepository, check_out, fetch_commit, run_git
from tileport_skill.errors import RequestError

MAX_FILES = 3_000
MAX_BYTES = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PullTree:
    """A repository of one commit at `path`, with the pull request's files in it."""

    path: Path
    commit: str
    changed: tuple[str, ...]
    """Paths that differ from where the pull request began; of a renamed file both."""


def open_pull(repository: Path, base: str, head: str, folder: Path) -> PullTree:
    """Checks `head` out into `folder`, which must not exist.

    `repository` holds both commits. Raises `RequestError` naming what makes the pull request unreadable.
    """
    changed = changed_paths(repository, base, head)
    run_git("init", "--quiet", "--initial-branch=main", str(folder))
    (folder / ".git" / "info" / "attributes").write_text(NO_CONVERSIONS)
    own = TrustedRepository(folder / ".git", folder)
    fetch_commit(own, repository, head)
    own.run("update-ref", "HEAD", head)
    check_out(own, head)
    return PullTree(path=folder, commit=head, changed=changed)


def changed_paths(repository: Path, base: str, head: str) -> tuple[str, ...]:
    """What `head` changes since it left `base`. Raises `RequestError` for what must not be written out."""
    words = _git(
        repository, "diff", "--raw", "-z", "--no-renames", "--no-abbrev", _begun_at(repository, base, head), head
    )
    listed = words.split(b"\0")
    changes = [
        (*header.decode().split(" "), path.decode("utf-8", errors="surrogateescape"))
        for header, path in zip(listed[::2], listed[1::2], strict=False)
    ]
    if len(changes) > MAX_FILES:
        raise RequestError(f"It changes {len(changes):,} files; at most {MAX_FILES:,} are looked at.")
    for _, mode, _, _, _, path in changes:
        if mode == "120000":
            raise RequestError(f"{path!a} is a symbolic link; nothing is read through a link of somebody else's.")
        if mode == "160000":
            raise RequestError(f"{path!a} is a nested repository; only plain files are looked at.")
    _check_size(repository, [blob for _, _, _, blob, _, _ in changes if set(blob) != {"0"}])
    return tuple(path for *_, path in changes)


def _begun_at(repository: Path, base: str, head: str) -> str:
    try:
        return _git(repository, "merge-base", base, head).decode().strip()
    except GitError:
        return base  # a shallow clone, or no common history: then all that differs counts


def _check_size(repository: Path, blobs: list[str]) -> None:
    told = run_git(
        *("-C", str(repository), "cat-file", "--batch-check=%(objectsize)"), stdin="\n".join(blobs).encode() + b"\n"
    )
    total = sum(int(size) for size in told.split() if size.isdigit())
    if total > MAX_BYTES:
        raise RequestError(f"Its files have {total:,} bytes; at most {MAX_BYTES:,} are looked at.")


def _git(repository: Path, *words: str) -> bytes:
    return run_git("-C", str(repository), *words)
