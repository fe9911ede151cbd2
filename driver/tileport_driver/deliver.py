"""The judged tree -> one commit on one branch of the target repository; safe to repeat.

The commit is made in our own bare repository and fetched by the target, so no hook of either side runs and the
target's work tree is not touched.
"""

from __future__ import annotations

from pathlib import Path

from tileport_driver.git import GitError, TrustedRepository, run_git
from tileport_driver.records import AgentCheckout, Delivery
from tileport_skill.errors import MachineryError, RequestError

TRAILER = "Tileport-Attempt:"


def branch_name(operator: str) -> str:
    """The branch of an operator's port; one per operator, so that a second attempt follows the first."""
    return f"port/{operator}"


def deliver(
    trusted: TrustedRepository, target: Path, record: AgentCheckout, tree: str, attempt: str, how: str
) -> Delivery:
    """Makes or adopts the branch. `how` is one line on who wrote the port.

    Raises `RequestError` if the branch exists and is not ours: a person's work is never overwritten.
    """
    how = f"{how}\nEvery gate and its evidence is in the pull request."
    said = message(f"Port {record.operator} to cuTile Rust", attempt, how)
    commit = trusted.commit_tree(tree, said, parent=record.base_commit)
    return place(trusted, target, branch_name(record.operator), commit, attempt)


def place(trusted: TrustedRepository, target: Path, branch: str, commit: str, attempt: str) -> Delivery:
    """Makes `branch` of the target stand at a commit of ours. Raises as `deliver` does."""
    existing = _tip(target, branch)
    if existing == commit:
        return Delivery(branch=branch, commit=commit)
    if existing is not None and TRAILER not in _message_of(target, existing):
        raise RequestError(
            f"{target} already has a branch {branch} that Tileport did not make (commit {existing[:12]}). "
            "Rename or delete it, then resume the attempt."
        )
    if _checked_out(target, branch):
        raise RequestError(f"{branch} is checked out in {target}. Check out another branch, then resume the attempt.")
    reference = f"refs/tileport/{attempt}"
    trusted.run("update-ref", reference, commit)
    run_git(
        "-C", str(target), "fetch", "--quiet", "--no-tags", str(trusted.git_dir), f"+{reference}:refs/heads/{branch}"
    )
    if _tip(target, branch) != commit:
        raise MachineryError(f"{branch} in {target} did not come to stand at {commit}.")
    return Delivery(branch=branch, commit=commit)


def message(title: str, attempt: str, body: str) -> str:
    """A commit's, with the trailer by which a branch is known to be ours."""
    name, mail = "Tileport", "tileport@users.noreply.invalid"
    return f"{title}\n\n{body}\n\n{TRAILER} {attempt}\nSigned-off-by: {name} <{mail}>\n"


def _tip(target: Path, branch: str) -> str | None:
    try:
        return run_git("-C", str(target), "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}").decode().strip()
    except GitError:
        return None


def _message_of(target: Path, commit: str) -> str:
    return run_git("-C", str(target), "log", "-1", "--format=%B", commit).decode(errors="replace")


def _checked_out(target: Path, branch: str) -> bool:
    listing = run_git("-C", str(target), "worktree", "list", "--porcelain").decode(errors="replace")
    return f"branch refs/heads/{branch}\n" in listing
