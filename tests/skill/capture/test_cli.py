"""The commands a person types, on the checkout of our own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.skill.capture.conftest import CHECKOUT
from typer.testing import CliRunner

from tileport_skill.__main__ import app
from tileport_skill.errors import RequestError


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CHECKOUT, tmp_path / "repository"))


def test_capture_prints_analyses_and_leaves_them_with_their_schema(repo: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["capture", "rows", "--repo", str(repo), "--out", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    (analysis,) = json.loads(done.stdout)
    assert (analysis["operator"], analysis["unlaunched"]) == ("rows", [])
    folder = tmp_path / "rows"
    assert json.loads((folder / "analysis.json").read_text()) == analysis
    assert json.loads((folder / "analysis.schema.json").read_text())["title"] == "Analysis"
    assert (folder / "sm_90" / "capture.json").is_file()


def test_show_names_tests_whole_with_their_parameters(repo: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["show", "scale", "--repo", str(repo), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "test_op[cutile-dtype0-size0]" in done.stdout
    assert "cdiv(x.size(0), TILE)" in done.stdout


def test_what_went_wrong_is_a_line_below_the_table_each(repo: Path, tmp_path: Path) -> None:
    hostile = repo / "tests" / "ops" / "test_hostile.py"
    hostile.write_text(hostile.read_text().replace(', "hang"]', "]"))
    done = CliRunner().invoke(app, ["capture", "hostile", "--repo", str(repo), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    for words in (
        "not captured: tests/ops/test_hostile.py::test_op[missing] (sm_90), tilegym/ops/cutile/hostile.py:",
        "not captured: tests/ops/test_hostile.py::test_op[host memory] (sm_90), tilegym/ops/cutile/hostile.py:",
        "refused: _double_product_kernel: ",
        "refused: _four_bit_kernel: ",
        "hostile: 2 tests launch nothing, tests/ops/test_hostile.py::test_op[nothing] the first",
    ):
        assert [line for line in lines if line.startswith(words)], (words, lines)


def test_capture_of_nothing_is_a_request_error(repo: Path) -> None:
    with pytest.raises(RequestError, match="Name at least one operator, or give --all"):
        CliRunner().invoke(app, ["capture", "--repo", str(repo)], catch_exceptions=False)
