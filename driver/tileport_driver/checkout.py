"""Two trees of one base commit: the agent's, a lone commit with the port hidden, and the judge's, the same bytes.

`prepare` makes the agent's; `clean_tree` makes the judge's by computing the hiding anew, never by copying.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tileport_driver.git import TrustedRepository, check_out, fetch_commit, open_trusted, run_git
from tileport_driver.hide import apply_hiding, plan_hiding
from tileport_driver.records import AgentCheckout, Hidden
from tileport_skill.errors import MachineryError
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files

_FIRST_COMMIT = "The operators as they stand\n"


def prepare(repository: Path, base_commit: str, operator: str, trusted_dir: Path, tree: Path) -> AgentCheckout:
    """Makes the agent's tree at `tree` (which must not exist) with a git repository of one commit in it."""
    trusted = open_trusted(trusted_dir, tree)
    fetch_commit(trusted, repository, base_commit)
    base_tree = trusted.run("rev-parse", f"{base_commit}^{{tree}}").decode().strip()
    check_out(trusted, base_tree)
    hidden = _hide(tree, operator)
    agent_tree = trusted.write_tree()
    _commit_for_agent(tree)
    checkout = open_checkout(tree)
    files = port_files(checkout, find_operator(read_operators(checkout), operator))
    return AgentCheckout(
        operator=operator,
        base_commit=base_commit,
        base_tree=base_tree,
        agent_tree=agent_tree,
        hidden=hidden,
        allowed=files.all,
    )


def clean_tree(record: AgentCheckout, trusted_dir: Path, tree: Path) -> TrustedRepository:
    """The tree the patch applies to, at `tree` (emptied first), made from the base commit alone.

    Raises `MachineryError` if hiding does not come out as it did for the agent.
    """
    if tree.exists():
        shutil.rmtree(tree)
    trusted = open_trusted(trusted_dir, tree)
    check_out(trusted, record.base_tree)
    _hide(tree, record.operator)
    made = trusted.write_tree()
    if made != record.agent_tree:
        raise MachineryError(
            f"the clean tree {made} is not the tree the agent was given, {record.agent_tree}: this Tileport hides "
            "differently from the one that made the attempt. Start the attempt again."
        )
    return trusted


def _hide(tree: Path, operator: str) -> tuple[Hidden, ...]:
    checkout = open_checkout(tree)
    entry = find_operator(read_operators(checkout), operator)
    return apply_hiding(tree, plan_hiding(checkout, entry))


def _commit_for_agent(tree: Path) -> None:
    """A repository the agent may use as it likes; nothing of ours ever runs git in it again."""
    run_git("init", "--quiet", "--initial-branch=main", str(tree))
    run_git("-C", str(tree), "add", "-A", "-f", "--", ".")
    run_git("-C", str(tree), "commit", "--quiet", "--no-verify", "-F", "-", stdin=_FIRST_COMMIT.encode())
