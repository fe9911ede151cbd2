"""`tileport hide`: what went, why, and what stayed near, for a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.driver.conftest import commit_all, write_files
from tests.driver.ported import KERNEL, LIBRARY, REGISTRATION, kernel_text, ported_target
from tests.driver.test_cli import tileport

PRODUCTS = {
    "src/tilegym/ops/cutile_rs/cutile_kernels/target/release/libcutile_kernels.so": "\x7fELF silu_and_mul_entry",
    "src/tilegym/ops/cutile_rs/cutile_kernels/.build.lock": "",
    "src/tilegym/ops/cutile_rs/__pycache__/silu_and_mul.cpython-312.pyc": "code of silu_and_mul",
    ".pytest_cache/v/cache/lastfailed": '{"tests/ops/test_silu_and_mul.py::test_op[cutile-rs]": true}',
}
"""What a build and a test run leave, committed by whoever did not look."""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    target = ported_target(tmp_path / "target")
    write_files(target, PRODUCTS)
    commit_all(target, "What a build left")
    return target


def test_it_names_everything_that_went_with_why_and_the_tree_is_there_to_look_at(target: Path, tmp_path: Path) -> None:
    done = tileport("hide", "silu-and-mul", "--repo", str(target), "--out", str(tmp_path / "out"), state=tmp_path)
    assert done.returncode == 0, done.stderr
    words = " ".join(done.stdout.split())
    for path, why in {
        KERNEL: "the existing port",
        LIBRARY: "the library's module of the port",
        REGISTRATION: "the port's registration",
        "README_fr.md": "a passage about the port",
        "tests/ops/test_silu_and_mul.py": "the port's test parameters and skips",
    }.items():
        assert f"{path} {why}" in words
    assert "stayed near: the ports of scale" in words
    assert "No trace of the port is left." in words
    assert not (tmp_path / "out/tree" / KERNEL).exists()


def test_products_of_builds_and_test_runs_are_gone_too(target: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = tileport("hide", "silu_and_mul", "--repo", str(target), "--out", str(out), "--json", state=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path for path in PRODUCTS if (out / "tree" / path).exists()] == []
    assert set(PRODUCTS) <= {item["path"] for item in json.loads(done.stdout)["record"]["hidden"]}


def test_a_trace_that_no_rule_takes_out_is_told_and_makes_the_status_10(target: Path, tmp_path: Path) -> None:
    whole = kernel_text()
    write_files(target, {"src/elsewhere/kept.rs": whole[len(whole) // 3 : 2 * len(whole) // 3]})
    commit_all(target, "A leak")
    done = tileport("hide", "silu_and_mul", "--repo", str(target), "--out", str(tmp_path / "out"), state=tmp_path)
    assert done.returncode == 10
    assert "src/elsewhere/kept.rs" in done.stdout or ".git/objects" in done.stdout


def test_a_folder_that_is_not_empty_and_an_operator_that_is_not_there_are_told(target: Path, tmp_path: Path) -> None:
    full = tileport("hide", "silu_and_mul", "--repo", str(target), "--out", str(target), state=tmp_path)
    unknown = tileport("hide", "nosuch", "--repo", str(target), "--out", str(tmp_path / "out"), state=tmp_path)
    assert [full.returncode, unknown.returncode] == [12, 12]
    assert "is not an empty folder" in full.stderr
    assert "tileport ops" in unknown.stderr
