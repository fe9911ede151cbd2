"""`tileport infra`: one branch of its own with two files, made once, never over a person's work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.conftest import commit_all, write_files
from tileport_driver.git import run_git
from tileport_driver.infra import BRANCH, deliver_infrastructure
from tileport_skill.errors import RequestError

FILES = ("src/tilegym/backend/cutile_rs/launching.py", "src/tilegym/ops/cutile_rs/ffi_util.rs")


@pytest.fixture
def repository(target: Path) -> Path:
    write_files(target, {FILES[1]: "pub struct TensorDesc;\n", "src/tilegym/backend/cutile_rs/utils.py": ""})
    commit_all(target, "The crate")
    return target


def git(repository: Path, *args: str) -> str:
    return run_git("-C", str(repository), *args).decode().strip()


def test_the_branch_is_one_commit_of_two_files_and_the_work_tree_is_untouched(repository: Path) -> None:
    made = deliver_infrastructure(repository, "HEAD")
    assert made is not None
    assert git(repository, "rev-parse", BRANCH) == made.delivery.commit
    assert tuple(git(repository, "diff", "--name-only", f"main..{BRANCH}").splitlines()) == FILES == made.files
    assert git(repository, "rev-list", "--count", f"main..{BRANCH}") == "1"
    assert git(repository, "status", "--porcelain") == ""
    assert all(f"`{path}`" in made.body for path in FILES)
    assert made.body in git(repository, "log", "-1", "--format=%B", BRANCH)


def test_asked_again_it_is_the_same_branch_and_once_merged_there_is_nothing_to_do(repository: Path) -> None:
    first = deliver_infrastructure(repository, "HEAD")
    assert deliver_infrastructure(repository, "HEAD") == first
    assert deliver_infrastructure(repository, BRANCH) is None


def test_a_persons_branch_of_that_name_is_left_alone(repository: Path) -> None:
    git(repository, "branch", BRANCH)
    with pytest.raises(RequestError, match="Tileport did not make"):
        deliver_infrastructure(repository, "HEAD")


def test_an_unknown_commit_is_refused(repository: Path) -> None:
    with pytest.raises(RequestError, match="has no commit 'nowhere'"):
        deliver_infrastructure(repository, "nowhere")
