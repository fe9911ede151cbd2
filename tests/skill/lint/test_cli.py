"""`tileport-skill lint`: what a path means, the three formats, the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tileport_skill.__main__ import app
from tileport_skill.errors import RequestError
from tileport_skill.lint.registry import RULES, rule
from tileport_skill.lint.sarif import SCHEMA


def lint(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["lint", *map(str, arguments)])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    ports = tmp_path / "src/tilegym/ops/cutile_rs"
    (ports / "k_kernel").mkdir(parents=True)
    (ports / "k_kernel/kernel.rs").write_text(rule("constant-false-is-true").bad["kernel"])
    (ports / "k.py").write_text(rule("no-computing-in-torch").bad["wrapper"])
    return tmp_path


def test_a_checkout_a_folder_of_ports_and_one_port_are_the_same_here(checkout: Path) -> None:
    ports = checkout / "src/tilegym/ops/cutile_rs"
    lines = {lint(path, "--format", "text").output for path in (checkout, ports, ports / "k_kernel")}
    (text,) = lines
    assert "k_kernel/kernel.rs:6: error:" in text
    assert "[constant-false-is-true]" in text
    assert "k.py:6: error:" in text


def test_of_one_file_only_its_own_findings_are_told(checkout: Path) -> None:
    text = lint(checkout / "src/tilegym/ops/cutile_rs/k.py").output
    assert "no-computing-in-torch" in text
    assert "constant-false-is-true" not in text


def test_what_the_reference_computes_the_port_may_compute(checkout: Path) -> None:
    reference = checkout / "src/tilegym/ops/cutile/k.py"
    reference.parent.mkdir()
    reference.write_text("def k(a):\n    return torch.softmax(a, 0)\n")
    assert "no-computing-in-torch" not in lint(checkout).output


def test_the_exit_status_tells_an_error_from_a_warning(checkout: Path, tmp_path: Path) -> None:
    assert lint(checkout).exit_code == 10
    good = tmp_path / "good.rs"
    good.write_text(rule("constant-false-is-true").good["kernel"])
    assert (lint(good).exit_code, lint(good).output.strip()) == (0, "")


def test_json_has_every_finding(checkout: Path) -> None:
    found = json.loads(lint(checkout, "--format", "json").output)
    assert {one["rule"] for one in found} == {"constant-false-is-true", "no-computing-in-torch"}


def test_sarif_names_each_result_rule_and_place(checkout: Path) -> None:
    log = json.loads(lint(checkout, "--format", "sarif").output)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert (log["version"], log["$schema"]) == ("2.1.0", SCHEMA)
    assert [one["id"] for one in rules] == [one.id for one in RULES]
    assert len(run["results"]) == 2
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].startswith("file:///")
        assert place["region"]["startLine"] >= 1


def test_where_there_is_no_port_the_user_is_told_what_to_give(tmp_path: Path) -> None:
    error = lint(tmp_path).exception
    assert isinstance(error, RequestError)
    assert "Give a checkout" in str(error)
    (tmp_path / "x.c").write_text("")
    assert isinstance(lint(tmp_path / "x.c").exception, RequestError)


def test_rules_are_printed_with_their_reasons() -> None:
    lines = lint("--rules").output.splitlines()
    assert len(lines) == len(RULES)
    assert lines[0].startswith("bind-inferred-calls (error): ")
