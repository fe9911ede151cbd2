"""The batch workflow's commands: names come from the repository's list, and a job without a word is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tileport_bot.__main__ import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def event(folder: Path, **inputs: object) -> str:
    path = folder / "event.json"
    path.write_text(json.dumps({"inputs": inputs, "repository": {"full_name": "a/b"}}))
    return str(path)


@pytest.mark.parametrize(
    ("asked", "planned"),
    [
        ("all", ["rms_norm", "silu_and_mul"]),
        ("ALL", ["rms_norm", "silu_and_mul"]),
        ("RMSNorm, silu-and-mul rms_norm", ["rms_norm", "silu_and_mul"]),
    ],
)
def test_the_plan_holds_names_of_the_repositorys_list(
    checkout: Path, tmp_path: Path, asked: str, planned: list[str]
) -> None:
    result = run("batch-plan", event(tmp_path, operators=asked), "--repo", str(checkout))
    assert json.loads(result.output) == planned


def test_an_operator_with_a_port_is_none_of_all(checkout: Path, tmp_path: Path) -> None:
    (checkout / "src/tilegym/ops/cutile_rs/rms_norm.py").write_text("")
    result = run("batch-plan", event(tmp_path, operators="all"), "--repo", str(checkout))
    assert json.loads(result.output) == ["silu_and_mul"]


@pytest.mark.parametrize("inputs", [{}, {"operators": " "}, {"operators": 3}, {"operators": "$(id)"}])
def test_what_names_no_operator_is_refused(checkout: Path, tmp_path: Path, inputs: dict[str, object]) -> None:
    result = run("batch-plan", event(tmp_path, **inputs), "--repo", str(checkout))
    assert result.exit_code == 12


def test_the_event_of_one_operator_differs_in_that_alone(tmp_path: Path) -> None:
    result = run("batch-event", event(tmp_path, operators="all", other="x"), "rms_norm")
    assert json.loads(result.output) == {
        "inputs": {"operators": "rms_norm", "other": "x"},
        "repository": {"full_name": "a/b"},
    }


def test_the_table_tells_of_a_job_without_a_word(tmp_path: Path) -> None:
    for name, line in (("rms_norm", "unproved: rms_norm"), ("evil", "a | b @all")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "line.txt").write_text(f"{name}\t{line}\n")
    result = run("batch-table", str(tmp_path), "--planned", '["rms_norm", "gone", "evil"]')
    rows = result.output.splitlines()
    assert rows[2] == "| `rms_norm` | unproved: rms_norm |"
    assert rows[3] == "| `gone` | no word: see the log of its job |"
    assert "@\u200ball" in rows[4]
    assert rows[4].count("|") - rows[4].count("\\|") == 3
