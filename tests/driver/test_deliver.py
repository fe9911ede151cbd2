"""The branch in the target repository: made once, adopted when there, never over a person's work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.conftest import commit_all, write_files
from tileport_driver.checkout import clean_tree, prepare
from tileport_driver.deliver import deliver
from tileport_driver.git import TrustedRepository, resolve_commit, run_git
from tileport_driver.records import AgentCheckout, Delivery
from tileport_skill.errors import RequestError


class Ready:
    def __init__(self, target: Path, tmp_path: Path) -> None:
        self.target = target
        self.trusted_dir = tmp_path / "trusted.git"
        base = resolve_commit(target)
        self.record: AgentCheckout = prepare(target, base, "scale", self.trusted_dir, tmp_path / "agent")
        self.trusted: TrustedRepository = clean_tree(self.record, self.trusted_dir, tmp_path / "judge")

    def deliver(self, text: str = "new", attempt: str = "scale-1") -> Delivery:
        (self.trusted.work_tree / "src/tilegym/ops/cutile_rs/scale.py").write_text(text)
        tree = self.trusted.write_tree()
        return deliver(self.trusted, self.target, self.record, tree, attempt, "Written by a test.")


@pytest.fixture
def ready(target: Path, tmp_path: Path) -> Ready:
    return Ready(target, tmp_path)


def git(target: Path, *args: str) -> str:
    return run_git("-C", str(target), *args).decode().strip()


def test_the_branch_is_one_commit_on_the_base_and_the_work_tree_is_untouched(ready: Ready) -> None:
    delivery = ready.deliver()
    assert git(ready.target, "rev-parse", "port/scale") == delivery.commit
    assert git(ready.target, "rev-parse", "port/scale^") == ready.record.base_commit
    assert git(ready.target, "status", "--porcelain") == ""
    assert git(ready.target, "show", "port/scale:src/tilegym/ops/cutile_rs/scale.py") == "new"
    assert "Signed-off-by:" in git(ready.target, "log", "-1", "--format=%B", "port/scale")


def test_a_base_that_has_moved_on_is_neither_followed_nor_forced(ready: Ready) -> None:
    write_files(ready.target, {"src/tilegym/ops/cutile_rs/scale.py": "somebody else's\n"})
    moved = commit_all(ready.target, "Meanwhile")
    delivery = ready.deliver()
    assert git(ready.target, "rev-parse", f"{delivery.commit}^") == ready.record.base_commit != moved
    assert git(ready.target, "rev-parse", "main") == moved
    assert (ready.target / "src/tilegym/ops/cutile_rs/scale.py").read_text() == "somebody else's\n"


def test_delivering_again_adopts_what_is_there(ready: Ready) -> None:
    assert ready.deliver() == ready.deliver()
    assert git(ready.target, "rev-list", "--count", f"{ready.record.base_commit}..port/scale") == "1"


def test_a_second_attempt_replaces_the_first(ready: Ready) -> None:
    first = ready.deliver()
    second = ready.deliver("better", "scale-2")
    assert first.commit != second.commit == git(ready.target, "rev-parse", "port/scale")


def test_a_persons_branch_of_that_name_is_left_alone(ready: Ready) -> None:
    git(ready.target, "branch", "port/scale")
    with pytest.raises(RequestError, match="did not make"):
        ready.deliver()
    assert git(ready.target, "rev-parse", "port/scale") == ready.record.base_commit


def test_a_branch_that_is_checked_out_is_left_alone(ready: Ready) -> None:
    first = ready.deliver()
    git(ready.target, "switch", "--quiet", "port/scale")
    with pytest.raises(RequestError, match="checked out"):
        ready.deliver("better", "scale-2")
    assert git(ready.target, "rev-parse", "port/scale") == first.commit


def test_no_hook_of_the_target_runs(ready: Ready) -> None:
    canary = ready.target / "canary"
    hook = ready.target / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)
    ready.deliver()
    assert not canary.exists()
