"""The table of a whole checkout: every test once, what failed with its line, and nothing of the sources."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from tests.skill.capture.conftest import CHECKOUT
from typer.testing import CliRunner

from tileport_skill.__main__ import app
from tileport_skill.capture.survey import Survey
from tileport_skill.capture.survey_cli import markdown


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("survey")
    repo = shutil.copytree(CHECKOUT, root / "repository")
    (repo / "tests" / "ops" / "test_hang.py").unlink()
    shutil.copy(
        repo / "tests" / "ops" / "test_scale.py", repo / "tests" / "suites_test_scale.py"
    )  # in no part: not run
    (repo / "tests" / "suites").mkdir()
    shutil.copy(repo / "tests" / "ops" / "test_padded.py", repo / "tests" / "suites" / "test_padded_too.py")
    hostile = repo / "tests" / "ops" / "test_hostile.py"
    hostile.write_text(hostile.read_text().replace(', "hang"]', "]"))
    options = ["--repo", str(repo), "--arch", "sm_90", "--keep", str(root / "kept"), "--seconds", "300"]
    done = CliRunner().invoke(app, ["survey", *options])
    assert done.exit_code == 0, done.output
    return root / "kept"


@pytest.fixture(scope="module")
def survey(kept: Path) -> Survey:
    (path,) = kept.glob("capture-*.json")
    return TypeAdapter(Survey).validate_json(path.read_bytes())


def test_each_test_file_is_a_row_with_its_counts(survey: Survey) -> None:
    rows = {row.file: row for row in survey.files}
    assert rows.keys() == {
        "tests/benchmark/bench_scale.py",
        "tests/ops/test_hostile.py",
        "tests/ops/test_padded.py",
        "tests/ops/test_rows.py",
        "tests/ops/test_scale.py",
        "tests/suites/test_padded_too.py",
    }
    scale = rows["tests/ops/test_scale.py"]
    assert (scale.passed, scale.skipped, scale.failed) == (6, 1, 0)
    assert (scale.launches, scale.configurations, scale.specialisations, scale.refused) == (7, 14, 10, 0)
    assert rows["tests/ops/test_hostile.py"].refused == 2


def test_what_was_not_captured_is_listed_with_line_and_reason(survey: Survey) -> None:
    listed = {(one.what, one.where) for one in survey.failed}
    assert ("1 of tests/ops/test_rows.py", "tilegym/ops/cutile/rows.py:18") in listed
    assert any("a_package_that_nobody_has" in one.reason for one in survey.failed)
    assert [one.reason for one in survey.skipped] == ["Skipped: not on this device"]
    assert {one.what.split()[-1] for one in survey.refused} == {"_double_product_kernel", "_four_bit_kernel"}
    assert survey.unlaunched == ("hang: _never_launched_kernel",)


def test_both_forms_say_the_same_and_hold_no_machine_paths(kept: Path, survey: Survey) -> None:
    (page,) = kept.glob("capture-*.md")
    assert page.read_text() == markdown(survey)
    for path in kept.iterdir():
        assert str(kept.parent) not in path.read_text()
    assert json.loads(next(kept.glob("*.json")).read_text())["date"] == survey.date
