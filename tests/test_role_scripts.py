"""Whole ports by roles with scripted answers: which role ran, and with which verdict, is what validators made of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.role_scripts import SCRIPTS, Played, play
from tileport_skill.pipeline.diagnosis import Diagnosis

DATA = Path(__file__).parent / "data" / "checkout"


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    """A checkout of our own, without the port of its one-kernel operator, where a script finds it."""
    shutil.copytree(DATA, tmp_path / "work")
    shutil.rmtree(tmp_path / "work/tilegym/ops/cutile_rs/scale_kernel")
    return tmp_path


def diagnosis(played: Played) -> Diagnosis:
    from tileport_driver.roles_run import read_diagnosis

    found = read_diagnosis(played.work.root)
    assert found is not None
    return found


def test_a_verdict_without_an_owner_stops(scale: Path) -> None:
    played = play(SCRIPTS / "no_owner", "scale", scale)
    assert played.route == ["preflight: pass", "analyzer: pass", "kernel-writer: equal", "host-builder: fail"]
    assert played.ended.state == "failed"
    found = diagnosis(played)
    assert (found.why, found.owner) == ("a failure without an owner", "unknown")


def test_a_report_that_says_all_is_well_of_files_that_are_wrong_is_caught_each_time(scale: Path) -> None:
    played = play(SCRIPTS / "false_report", "scale", scale)
    assert played.route == [
        "preflight: pass",
        "analyzer: pass",
        "kernel-writer: not-equal (said equal)",
        "ir-analyst: fail-kernel",
        "kernel-writer: not-equal (said equal)",
    ]
    found = diagnosis(played)
    assert (found.why, found.owner, found.seen) == ("the kernel still differs from the reference", "kernel", True)
    assert "different" in found.last.problems[0]


def test_where_the_machine_lacks_something_no_role_is_asked(scale: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_EMITTER", str(scale / "nowhere"))
    played = play(SCRIPTS / "broken_environment", "scale", scale)
    assert played.route == ["preflight: fail"]
    assert played.sent == ()
    found = diagnosis(played)
    assert (found.owner, found.seen) == ("environment", True)
    assert "emitter" in found.last.problems[0]
