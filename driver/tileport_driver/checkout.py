"""Two trees of one base commit: the agent's, a lone commit with the port hidden, and the judge's, the same bytes.

`prepare` makes the agent's; `clean_tree` makes the judge's by computing the hiding anew, never by copying.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tileport_driver.git import GitError, TrustedRepository, check_out, fetch_commit, open_trusted, run_git
from tileport_driver.hide import Edit, apply_hiding, plan_hiding, port_prints
from tileport_driver.leaks.fingerprints import Fingerprints
from tileport_driver.records import AgentCheckout, Patch
from tileport_skill.errors import MachineryError
from tileport_skill.tilegym.operators import Checkout, Operator, find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files

_FIRST_COMMIT = "The operators as they stand\n"


def prepare(
    repository: Path,
    base_commit: str,
    operator: str,
    trusted_dir: Path,
    tree: Path,
    also_hidden: tuple[str, ...] = (),
) -> AgentCheckout:
    """Makes the agent's tree at `tree` (which must not exist) with a git repository of one commit in it."""
    return prepare_fingerprinted(repository, base_commit, operator, trusted_dir, tree, also_hidden)[0]


def prepare_fingerprinted(
    repository: Path,
    base_commit: str,
    operator: str,
    trusted_dir: Path,
    tree: Path,
    also_hidden: tuple[str, ...] = (),
) -> tuple[AgentCheckout, Fingerprints]:
    """The same, and what the hidden ports would be known again by."""
    trusted = open_trusted(trusted_dir, tree)
    fetch_commit(trusted, repository, base_commit)
    base_tree = trusted.run("rev-parse", f"{base_commit}^{{tree}}").decode().strip()
    check_out(trusted, base_tree)
    checkout, entry, edits = _plan(tree, operator, also_hidden)
    prints = port_prints(checkout, entry, edits)
    hidden = apply_hiding(tree, edits)
    agent_tree = trusted.write_tree()
    _commit_for_agent(tree)
    record = AgentCheckout(
        operator=operator,
        base_commit=base_commit,
        base_tree=base_tree,
        agent_tree=agent_tree,
        hidden=hidden,
        allowed=port_files(checkout, entry).all,
        also_hidden=also_hidden,
    )
    return record, prints


def clean_tree(record: AgentCheckout, trusted_dir: Path, tree: Path) -> TrustedRepository:
    """The tree the patch applies to, at `tree` (emptied first), made from the base commit alone.

    Raises `MachineryError` if hiding does not come out as it did for the agent.
    """
    if tree.exists():
        shutil.rmtree(tree)
    trusted = open_trusted(trusted_dir, tree)
    check_out(trusted, record.base_tree)
    _, _, edits = _plan(tree, record.operator, record.also_hidden)
    apply_hiding(tree, edits)
    made = trusted.write_tree()
    if made != record.agent_tree:
        raise MachineryError(
            f"the clean tree {made} is not the tree the agent was given, {record.agent_tree}: this Tileport hides "
            "differently from the one that made the attempt. Start the attempt again."
        )
    return trusted


def delivery_tree(record: AgentCheckout, trusted_dir: Path, tree: Path, patch: Patch) -> str:
    """The base with the port's six files as the patch leaves them, and everything else that was hidden still there.

    Where a near twin was hidden in one of the six as well, both its lines and the port's are kept.
    """
    if tree.exists():
        shutil.rmtree(tree)
    trusted = open_trusted(trusted_dir, tree)
    check_out(trusted, record.base_tree)
    _, _, edits = _plan(tree, record.operator, ())
    apply_hiding(tree, tuple(edit for edit in edits if edit.hidden.path in record.allowed))
    for path in patch.files:
        given, left = (_blob(trusted, made, path) for made in (record.agent_tree, patch.result_tree))
        file = tree / path
        there = file.read_bytes() if file.is_file() else b""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(left if there == given else _both(there, given, left))
    return trusted.write_tree()


def _both(there: bytes, given: bytes, left: bytes) -> bytes:
    """What `there` and `left` each made of `given`, both kept where they meet."""
    with TemporaryDirectory(prefix="tileport-merge-") as folder:
        names = [Path(folder, name) for name in ("there", "given", "left")]
        for name, text in zip(names, (there, given, left), strict=True):
            name.write_bytes(text)
        return run_git("merge-file", "-p", "--union", *map(str, names))


def _blob(trusted: TrustedRepository, tree: str, path: str) -> bytes:
    try:
        return trusted.run("cat-file", "blob", f"{tree}:{path}")
    except GitError:
        return b""  # it is not in that tree


def _plan(tree: Path, operator: str, also_hidden: tuple[str, ...]) -> tuple[Checkout, Operator, tuple[Edit, ...]]:
    checkout = open_checkout(tree)
    operators = read_operators(checkout)
    entry = find_operator(operators, operator)
    also = tuple(find_operator(operators, name) for name in also_hidden)
    return checkout, entry, plan_hiding(checkout, entry, also)


def _commit_for_agent(tree: Path) -> None:
    """A repository the agent may use as it likes; nothing of ours ever runs git in it again."""
    run_git("init", "--quiet", "--initial-branch=main", str(tree))
    run_git("-C", str(tree), "add", "-A", "-f", "--", ".")
    run_git("-C", str(tree), "commit", "--quiet", "--no-verify", "-F", "-", stdin=_FIRST_COMMIT.encode())
