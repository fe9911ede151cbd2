"""The agent's tree -> a patch of bytes, and the policy it must obey.

git never runs in the agent's repository: a trusted bare repository reads the agent's files with the agent's own
`.git` moved out of sight, so hooks, filters, monitors and hidden index flags of the agent's making do nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from tileport_driver.broker.masking import MASK, Masks
from tileport_driver.broker.pieces import Pieces, pieces_of
from tileport_driver.git import TrustedRepository, open_trusted
from tileport_driver.records import AgentCheckout, Change, Patch
from tileport_skill.errors import MachineryError

MAX_BYTES = 2_000_000
MAX_LISTED = 100
_WITHHELD = b"The diff is withheld: it carries a secret of ours.\n"
_DIFF = (
    "diff",
    "--cached",
    "--binary",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
)


def capture(record: AgentCheckout, trusted_dir: Path, tree: Path, aside: Path) -> tuple[Patch, bytes]:
    """What the agent left, against what it was given. `aside` receives the agent's `.git`, wherever it was."""
    _set_aside(tree / ".git", aside)
    _open_up(tree)
    trusted = open_trusted(trusted_dir, tree)
    trusted.run("read-tree", record.agent_tree)
    result_tree = trusted.write_tree()
    diff = trusted.run(*_DIFF, record.agent_tree)
    patch = Patch(
        base_tree=record.agent_tree,
        result_tree=result_tree,
        changes=_changes(trusted, record.agent_tree),
        bytes=len(diff),
        sha256=hashlib.sha256(diff).hexdigest(),
        ignored=_ignored(trusted),
    )
    return patch, diff


def mask_secrets(
    trusted: TrustedRepository, patch: Patch, diff: bytes, secrets: tuple[str, ...], pieces: Pieces | None = None
) -> tuple[Patch, bytes]:
    """The same patch if it carries none; else one that says so and names no such path, with a word for its diff.

    Files are looked at as they are, too: a binary one is compressed in the diff. `pieces` are those of the secrets that
    whoever wrote the patch could have had, where they may not be among `secrets` here.
    """
    masks = Masks(secrets)
    known = (pieces_of(secrets), *([pieces] if pieces is not None else []))

    def carries(text: str) -> bool:
        return masks.text(text) != text or any(one.in_text(text) for one in known)

    named = _without_paths(patch, carries)
    if len(diff) > MAX_BYTES:
        return named, f"The diff is withheld: it has {len(diff):,} bytes.\n".encode()
    text = diff.decode("utf-8", errors="surrogateescape")
    added = re.sub(r"(?m)^[+ ]", "", text)  # so that what is wrapped in the file is wrapped by nothing else
    blobs = [change.path for change in patch.changes if change.status in "AM" and change.new_mode.startswith("100")]
    seen = [added, text] + [
        trusted.run("cat-file", "blob", f"{patch.result_tree}:{path}").decode("latin-1") for path in blobs
    ]
    if named.secret or any(map(carries, seen)):
        return replace(named, secret=True), _WITHHELD
    return named, diff


def _without_paths(patch: Patch, carries: Callable[[str], bool]) -> Patch:
    """Paths are told in reasons, reports and comments; what git ignores is told, and is no part of the patch."""
    changes = tuple(replace(change, path=MASK) if carries(change.path) else change for change in patch.changes)
    ignored = tuple(MASK if carries(path) else path for path in patch.ignored)
    if (changes, ignored) == (patch.changes, patch.ignored):
        return patch
    return replace(patch, changes=changes, ignored=ignored, secret=patch.secret or changes != patch.changes)


def read_patch(record: AgentCheckout, trusted: TrustedRepository, diff: bytes) -> Patch:
    """A diff from anywhere as a patch against the tree that `trusted` holds. Raises `GitError` if it does not apply."""
    trusted.run("read-tree", record.agent_tree)
    trusted.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=diff)
    return Patch(
        base_tree=record.agent_tree,
        result_tree=trusted.run("write-tree").decode().strip(),
        changes=_changes(trusted, record.agent_tree),
        bytes=len(diff),
        sha256=hashlib.sha256(diff).hexdigest(),
        ignored=(),
    )


def violations(patch: Patch, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Why the patch may not be judged, each naming path and rule; empty when it may. Pure."""
    found = []
    if not patch.changes:
        found.append("The patch is empty: the agent changed nothing.")
    if patch.secret:
        found.append("The patch carries a secret of ours; it is withheld and goes nowhere.")
    if patch.bytes > MAX_BYTES:
        found.append(f"The patch has {patch.bytes:,} bytes; the rule is at most {MAX_BYTES:,}.")
    folded = {path.casefold(): path for path in allowed}
    for change in patch.changes:
        rule = _broken_rule(change, set(allowed), folded)
        if rule:
            found.append(f"{_printable(change.path)}: {rule}")
    return tuple(found)


def apply(trusted: TrustedRepository, patch: Patch, diff: bytes) -> None:
    """Applies `diff` to the clean tree and its index, and holds the result against what the agent left.

    Raises `MachineryError` if the tree comes out otherwise: then the diff does not say what the agent did.
    """
    trusted.run("apply", "--index", "--whitespace=nowarn", "-", stdin=diff)
    result = trusted.run("write-tree").decode().strip()
    if result != patch.result_tree:
        raise MachineryError(f"applying the patch gave tree {result}, the agent left {patch.result_tree}.")


def _broken_rule(change: Change, allowed: set[str], folded: dict[str, str]) -> str | None:
    if change.new_mode == "120000" or change.old_mode == "120000":
        return "symbolic links may not be touched."
    if change.new_mode == "160000":
        return "submodules and nested repositories are not allowed; their files would be lost."
    if ".." in change.path.split("/") or change.path.startswith("/"):
        return "the path leaves the repository."
    if change.path not in allowed:
        other = folded.get(change.path.casefold())
        if other:
            return f"differs from {other} in case only."
        return "not one of the six files of a port."
    if change.status == "D":
        return "a port may not delete its files."
    if change.new_mode != "100644":
        return f"file mode {change.new_mode}; a port's files are plain (100644)."
    return None


def _set_aside(dot_git: Path, aside: Path) -> None:
    if not (dot_git.exists() or dot_git.is_symlink()):
        return
    aside.mkdir(parents=True, exist_ok=True)
    target = aside / "agent.git"
    if target.exists() or target.is_symlink():
        raise MachineryError(f"{target} is already there; remove it and resume the attempt.")
    dot_git.rename(target)


def _open_up(tree: Path) -> None:
    """Lets us read what the agent shut away from its owner; links are not followed, and git's modes stay."""
    for folder, folders, names in os.walk(tree):
        for name in (*folders, *names):
            path = os.path.join(folder, name)  # noqa: PTH118 - a build has thousands
            mode = os.lstat(path).st_mode
            wanted = 0o700 if stat.S_ISDIR(mode) else 0o400
            if (stat.S_ISDIR(mode) or stat.S_ISREG(mode)) and mode & wanted != wanted:
                Path(path).chmod(stat.S_IMODE(mode) | wanted)


def _changes(trusted: TrustedRepository, base: str) -> tuple[Change, ...]:
    words = trusted.run("diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", base).split(b"\0")
    changes = []
    for header, path in zip(words[::2], words[1::2], strict=False):
        old_mode, new_mode, _, _, status = header.decode().lstrip(":").split(" ")
        name = path.decode("utf-8", errors="surrogateescape")
        kind = cast(Literal["A", "M", "D", "T"], status[0])
        changes.append(Change(path=name, old_mode=old_mode, new_mode=new_mode, status=kind))
    return tuple(changes)


def _ignored(trusted: TrustedRepository) -> tuple[str, ...]:
    """Ignored files of the tree, folders summed up as one line."""
    listed = trusted.run("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory").split(b"\0")
    names = [_printable(name.decode("utf-8", errors="surrogateescape")) for name in listed if name]
    return tuple(names[:MAX_LISTED])


def _printable(path: str) -> str:
    return path.encode("utf-8", errors="backslashreplace").decode() if path.isprintable() else ascii(path)
