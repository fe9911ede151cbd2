"""The folder for a machine with a GPU holds everything that runs there, and nothing that was hidden."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.driver.conftest import commit_all, write_files
from tileport_driver.checkout import clean_tree, prepare
from tileport_driver.git import open_trusted, resolve_commit
from tileport_driver.gpu.pack import pack
from tileport_driver.patch import read_patch
from tileport_driver.records import AgentCheckout, Patch
from tileport_skill.correctness.records import read_job
from tileport_skill.errors import RequestError
from tileport_skill.judge.library import LIBRARY

ENTRY = "#[cutile::entry(print_ir = false)]\n    unsafe fn scale_all<const N: i32>() {}"
KERNEL = f"#[cutile::module]\nmod m {{\n    {ENTRY}\n}}\n"


@pytest.fixture
def trees(target: Path, tmp_path: Path) -> tuple[AgentCheckout, Patch, Path, Path]:
    record = prepare(target, resolve_commit(target), "scale", tmp_path / "trusted.git", tmp_path / "base")
    clean_tree(record, tmp_path / "trusted.git", tmp_path / "tree")
    write_files(
        tmp_path / "tree",
        {
            "src/tilegym/ops/cutile_rs/scale.py": "def scale(x):\n    return x\n",
            "src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs": KERNEL,
            "src/tilegym/ops/cutile_rs/scale_kernel/ffi.rs": "// launcher\n",
        },
    )
    trusted = open_trusted(tmp_path / "trusted.git", tmp_path / "tree")
    trusted.run("read-tree", record.agent_tree)
    trusted.write_tree()
    diff = trusted.run("diff", "--cached", "--binary", record.agent_tree)
    patch = read_patch(record, trusted, diff)
    library = tmp_path / "tree/src/tilegym/ops/cutile_rs/cutile_kernels" / LIBRARY
    library.parent.mkdir(parents=True)
    library.write_bytes(b"ELF")
    return record, patch, tmp_path / "base", tmp_path / "tree"


def test_the_job_reads_back_where_the_folder_lies(
    trees: tuple[AgentCheckout, Patch, Path, Path], tmp_path: Path
) -> None:
    pack(*trees, tmp_path / "pack")
    moved = (tmp_path / "pack").rename(tmp_path / "elsewhere")
    job = read_job(moved / "job.json")
    assert job.entries == ("scale_all",)
    assert job.names == ("scale",)
    assert job.reference_module == "tilegym.ops.cutile.scale"
    assert job.result_tree == trees[1].result_tree
    assert (Path(job.tree) / job.library).read_bytes() == b"ELF"
    assert (Path(job.tests_root) / job.tests[0]).is_file()
    assert Path(job.base, job.package, "tilegym/ops/cutile/scale.py").is_file()


def test_the_base_in_the_pack_has_no_port(trees: tuple[AgentCheckout, Patch, Path, Path], tmp_path: Path) -> None:
    pack(*trees, tmp_path / "pack")
    assert not (tmp_path / "pack/base/src/tilegym/ops/cutile_rs/scale.py").exists()
    assert "SECRET_OF_THE_PORT" not in "".join(
        path.read_text(errors="replace") for path in (tmp_path / "pack").rglob("*") if path.is_file()
    )


def test_what_runs_there_needs_nothing_that_is_not_in_the_pack(
    trees: tuple[AgentCheckout, Patch, Path, Path], tmp_path: Path
) -> None:
    """Its own copy of our code is imported, with this checkout out of reach."""
    pack(*trees, tmp_path / "pack")
    modules = "tileport_skill.correctness.session, tileport_skill.timing.campaign, tileport_skill.correctness.decide"
    absent = "('pydantic', 'typer', 'rich', 'docker', 'dbos', 'anthropic', 'structlog')"
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); import {modules}; print(tileport_skill.__file__)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "pack/skill")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "pack") in done.stdout


def test_a_folder_that_is_not_empty_is_left_alone(
    trees: tuple[AgentCheckout, Patch, Path, Path], tmp_path: Path
) -> None:
    write_files(tmp_path / "pack", {"mine.txt": "keep"})
    with pytest.raises(RequestError, match="not empty"):
        pack(*trees, tmp_path / "pack")
    assert (tmp_path / "pack/mine.txt").read_text() == "keep"


def test_an_operator_without_any_test_is_refused(target: Path, tmp_path: Path) -> None:
    (target / "tests/ops/test_scale.py").unlink()
    commit_all(target, "No tests")
    record = prepare(target, resolve_commit(target), "scale", tmp_path / "trusted.git", tmp_path / "base")
    tree = tmp_path / "tree"
    clean_tree(record, tmp_path / "trusted.git", tree)
    library = tree / "src/tilegym/ops/cutile_rs/cutile_kernels" / LIBRARY
    write_files(tree, {"src/tilegym/ops/cutile_rs/scale_kernel/kernel.rs": KERNEL})
    library.parent.mkdir(parents=True)
    library.write_bytes(b"ELF")
    patch = Patch(base_tree="", result_tree="", changes=(), bytes=0, sha256="", ignored=())
    with pytest.raises(RequestError, match="no test in the repository"):
        pack(record, patch, tmp_path / "base", tree, tmp_path / "pack")
