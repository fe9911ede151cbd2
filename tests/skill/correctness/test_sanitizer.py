"""compute-sanitizer's words, recorded on an H200, and a program that says them: no GPU here."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

import pytest

from tileport_skill.correctness import sanitizer
from tileport_skill.correctness.records import Role
from tileport_skill.correctness.sanitizer import check, errors_in

RECORDED = Path(__file__).parents[2] / "data" / "correctness" / "h200-2026-11-30-memcheck.log"
"""Of a cuTile kernel of 16 elements that gathers a million elements past its array, unchecked."""
NOWHERE: Mapping[Role, Mapping[str, str]] = {"reference": {"ROLE": "reference"}, "port": {"ROLE": "port"}}
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, of: Mapping[str, str]) -> None:
    """A `compute-sanitizer` that logs what is given for each role and, like the real one, tells by its status."""
    logs = {}
    for role, said in of.items():
        logs[role] = folder / f"{role}.said"
        logs[role].write_text(said, encoding="utf-8")
    path = folder / "compute-sanitizer"
    path.write_text(
        f"""#!/bin/sh
for word in "$@"; do case $word in --log-file=*) log=${{word#--log-file=}};; esac; done
for last in "$@"; do :; done
cp {folder}/$ROLE.said "$log"
grep -q Invalid "$log" && exit 66
echo '{{"calls": 7}}' > "$last"
""",
        encoding="utf-8",
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sanitizer, "find", lambda: str(path))


def test_each_different_error_of_a_log_is_told_once() -> None:
    (error,) = errors_in(RECORDED.read_text(encoding="utf-8"))
    assert error.startswith("Invalid __global__ read of size 4 bytes at reads_outside_")
    assert errors_in(CLEAN) == ()


def test_a_port_that_reads_outside_is_told_with_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, {"port": RECORDED.read_text(encoding="utf-8"), "reference": CLEAN})
    found = check(tmp_path / "job.json", tmp_path, tmp_path, NOWHERE)
    assert len(found.errors) == 1
    assert not found.not_run


def test_what_the_reference_does_too_is_not_the_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = RECORDED.read_text(encoding="utf-8")
    program(tmp_path, monkeypatch, {"port": said, "reference": said})
    found = check(tmp_path / "job.json", tmp_path, tmp_path, NOWHERE)
    assert found.errors == ()
    assert "the reference does so too" in found.not_run


def test_a_port_without_fault_is_told_with_its_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, {"port": CLEAN})
    found = check(tmp_path / "job.json", tmp_path, tmp_path, NOWHERE)
    assert (found.calls, found.errors, found.not_run) == (7, (), "")


def test_a_process_that_breaks_down_under_it_says_nothing_about_the_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitizer, "find", lambda: "/bin/false")
    found = check(tmp_path / "job.json", tmp_path, tmp_path, NOWHERE)
    assert (found.calls, found.errors) == (0, ())
    assert "ended with status 1" in found.not_run


def test_where_it_is_not_installed_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "find", lambda: None)
    assert "not installed" in check(tmp_path / "job.json", tmp_path, tmp_path, NOWHERE).not_run
