"""The agent's tree and the judge's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.driver.conftest import commit_all
from tileport_driver.checkout import clean_tree, prepare
from tileport_driver.git import resolve_commit, run_git
from tileport_driver.records import AgentCheckout
from tileport_skill.errors import MachineryError


def made(target: Path, tmp_path: Path) -> tuple[AgentCheckout, Path]:
    tree = tmp_path / "agent"
    return prepare(target, resolve_commit(target), "scale", tmp_path / "trusted.git", tree), tree


def test_the_agents_tree_has_one_commit_and_no_remote(target: Path, tmp_path: Path) -> None:
    (target / "later.txt").write_text("x")
    commit_all(target, "Second")
    _, tree = made(target, tmp_path)
    git = ["git", "-c", "safe.directory=*", "-C", str(tree)]
    assert subprocess.check_output([*git, "rev-list", "--all", "--count"], text=True).strip() == "1"
    assert subprocess.check_output([*git, "remote"], text=True) == ""
    assert subprocess.check_output([*git, "status", "--porcelain"], text=True) == ""


def test_nothing_of_the_port_is_left_for_the_agent_not_even_in_git_objects(target: Path, tmp_path: Path) -> None:
    record, tree = made(target, tmp_path)
    assert {hidden.path for hidden in record.hidden} == {
        "src/tilegym/ops/cutile_rs/__init__.py",
        "src/tilegym/ops/cutile_rs/cutile_kernels/Cargo.lock",
        "src/tilegym/ops/cutile_rs/cutile_kernels/src/lib.rs",
        "src/tilegym/ops/cutile_rs/scale.py",
        "src/tilegym/ops/cutile_rs/scale_kernel/ffi.rs",
        "src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs",
        "tests/ops/test_scale.py",
    }
    git = ["git", "-c", "safe.directory=*", "-C", str(tree)]
    objects = subprocess.check_output([*git, "cat-file", "--batch-all-objects", "--batch-check"], text=True)
    contents = b"".join(
        subprocess.check_output([*git, "cat-file", "-p", line.split()[0]])
        for line in objects.splitlines()
        if line.split()[1] == "blob"
    )
    assert b"SECRET_OF_THE_PORT" not in contents
    assert b"cutile-rs" not in (tree / "tests/ops/test_scale.py").read_bytes()
    assert b"mod scale" not in contents
    assert b"mod other" in contents


def test_neither_log_nor_fsck_nor_reflog_gives_an_agent_the_port(target: Path, tmp_path: Path) -> None:
    """As agents have recovered answers from the history of other benchmarks."""
    prepare(target, resolve_commit(target), "scale", tmp_path / "trusted.git", tmp_path / "agent")
    git = ["-C", str(tmp_path / "agent")]
    assert run_git(*git, "log", "--all", "--oneline", "-S", "SECRET_OF_THE_PORT") == b""
    assert run_git(*git, "fsck", "--lost-found", "--no-progress") == b""
    assert len({line.split()[0] for line in run_git(*git, "reflog", "--all").splitlines()}) == 1
    assert run_git(*git, "tag") == run_git(*git, "stash", "list") == b""


def test_the_rest_of_the_files_stands_as_it_stood(target: Path, tmp_path: Path) -> None:
    _, tree = made(target, tmp_path)
    text = (tree / "tests/ops/test_scale.py").read_text()
    assert '_backends = ["cutile"]' in text
    assert "assert scale(1) == 1" in text
    library = (tree / "src/tilegym/ops/cutile_rs/cutile_kernels/src/lib.rs").read_text()
    assert library == 'mod other {\n    include!("../../other_kernel/kernel.rs");\n}\n'


def test_the_clean_tree_is_the_tree_the_agent_was_given(target: Path, tmp_path: Path) -> None:
    record, _ = made(target, tmp_path)
    trusted = clean_tree(record, tmp_path / "trusted.git", tmp_path / "judge")
    assert trusted.write_tree() == record.agent_tree != record.base_tree


def test_a_clean_tree_that_comes_out_otherwise_is_our_failure(target: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    record, _ = made(target, tmp_path)
    with pytest.raises(MachineryError, match="hides differently"):
        clean_tree(replace(record, agent_tree="0" * 40), tmp_path / "trusted.git", tmp_path / "judge")


def test_uncommitted_work_and_history_stay_outside(target: Path, tmp_path: Path) -> None:
    (target / "notes.txt").write_text("uncommitted")
    _, tree = made(target, tmp_path)
    assert not (tree / "notes.txt").exists()


def test_a_test_that_names_the_backend_where_no_program_can_hide_it_stops_the_attempt(
    target: Path, tmp_path: Path
) -> None:
    (target / "tests/ops/test_scale.py").write_text('BACKENDS = ["cutile", "cutile-rs"]\nscale = 1\n')
    commit_all(target, "Odd test")
    with pytest.raises(MachineryError, match=r"test_scale\.py:1 mentions 'cutile-rs'"):
        made(target, tmp_path)


def test_a_body_that_would_be_empty_without_the_ports_lines_stops_the_attempt(target: Path, tmp_path: Path) -> None:
    (target / "tests/ops/test_scale.py").write_text(
        'def test_scale(backend):\n    if backend == "cutile-rs":\n        raise ValueError\n'
    )
    commit_all(target, "Odd test")
    with pytest.raises(MachineryError, match="would not parse"):
        made(target, tmp_path)


def test_a_shallow_repository_serves_as_well(target: Path, tmp_path: Path) -> None:
    (target / "later.txt").write_text("x")
    commit_all(target, "Second")
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{target}", str(shallow)], check=True)
    record, tree = made(shallow, tmp_path)
    assert (tree / "later.txt").exists()
    assert record.base_commit == resolve_commit(target)
