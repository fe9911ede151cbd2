"""A whole run with stand-ins for both sides' processes: what they leave is evidence, and none can hold it up."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from pydantic import TypeAdapter
from tests.skill.correctness import judge_alone
from tests.skill.correctness.stand_in_child import CASE, ITEM

from tileport_skill.correctness import files, session
from tileport_skill.correctness.decide import not_measured, problems
from tileport_skill.correctness.records import Evidence, Job, write_json
from tileport_skill.errors import MachineryError


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    for name in ("base", "tree", "root"):
        (tmp_path / name).mkdir()
    (tmp_path / "tree" / "lib.so").write_bytes(b"library")
    torch.save({"tolerances": None}, tmp_path / "root" / "000.pt")
    for role in ("reference", "port"):
        torch.save({"outputs": [torch.ones(3)], "gradients": []}, tmp_path / "root" / f"{role}.pt")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("SECRET", "of the caller")
    return Job(
        operator="works",
        names=("x",),
        reference_module="x",
        kernels=(),
        entries=(),
        base=str(tmp_path / "base"),
        tree=str(tmp_path / "tree"),
        package=".",
        tests=("tests/ops/test_x.py",),
        tests_root=str(tmp_path / "root"),
        own_tests=False,
        library="lib.so",
        library_sha256=hashlib.sha256(b"library").hexdigest(),
        tuned=False,
        seed=1,
    )


def run(job: Job, operator: str, seconds: float = 60.0, tracer: str = "") -> Evidence:
    """Raises `MachineryError` if the run does."""
    out = Path(job.base).parent / "out"
    told = Path(job.base).parent / "told.json"
    write_json(told, dataclasses.replace(job, operator=operator))
    command = [sys.executable, judge_alone.__file__, str(told), str(out), tracer, str(seconds)]
    paths = f"{Path(session.__file__).parents[2]}:{os.environ['PYTHONPATH']}"
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}, check=False)
    if done.returncode == 13:
        raise MachineryError(done.stderr)
    assert done.returncode == 0, done.stderr
    return TypeAdapter(Evidence).validate_json((out / files.EVIDENCE).read_bytes())


def checks(evidence: Evidence) -> set[str]:
    return {problem.check for problem in problems(evidence)}


def test_without_cupti_nothing_is_run_at_all(job: Job) -> None:
    with pytest.raises(MachineryError, match=r"no_such_tracer.*pip install cupti-python"):
        run(job, "works", tracer="import no_such_tracer")
    assert not (Path(job.base).parent / "out").exists()


def test_both_sides_evidence_is_brought_together_and_written_down(job: Job) -> None:
    evidence = run(job, "works")
    assert (evidence.reference.exit, evidence.port.exit) == ("ended", "ended")
    assert [test.id for test in evidence.port.tests] == [CASE]
    assert [(c.item, c.identical, c.problems) for c in evidence.comparisons] == [(ITEM, True, ())]
    assert evidence.port.bytecodes == (hashlib.sha256(b"\x7fTileIR\x00").hexdigest(),)
    assert evidence.host["device"] == "none"
    assert problems(evidence) == ()
    assert not_measured(evidence) is None
    out = Path(job.base).parent / "out"
    assert json.loads((out / "correctness.json").read_text(encoding="utf-8"))["port"]["exit"] == "ended"
    assert {path.name for path in out.iterdir()} >= {"job.json", "port.log", "reference-tests.xml", "port-traced.xml"}


def test_a_port_that_dies_is_rejected_with_what_it_was_doing(job: Job) -> None:
    evidence = run(job, "port dies")
    assert evidence.port.exit == "died with status -9 during the tests, traced"
    assert "process" in checks(evidence)
    assert not_measured(evidence) is None


def test_a_daemon_that_a_port_leaves_behind_is_ended_and_speaks_against_it(job: Job) -> None:
    evidence = run(job, "port leaves a daemon")
    assert evidence.port.exit == "ended, but left processes behind (1)"
    assert "process" in checks(evidence)
    assert evidence.reference.exit == "ended"


def test_a_port_that_hangs_is_stopped(job: Job) -> None:
    evidence = run(job, "port hangs", seconds=8.0)
    assert evidence.port.exit == "stopped after 8 s during the tests, traced"
    assert evidence.reference.exit == "ended"
    assert "process" in checks(evidence)


@pytest.mark.parametrize("operator", ["reference dies", "reference hangs"])
def test_a_reference_that_breaks_down_is_no_verdict(job: Job, operator: str) -> None:
    assert "reference" in (not_measured(run(job, operator, seconds=8.0)) or "")


def test_garbage_on_standard_output_is_logged_and_means_nothing(job: Job) -> None:
    evidence = run(job, "reference prints garbage")
    assert (evidence.reference.exit, evidence.port.exit) == ("ended", "ended")
    assert b"\xff" * 1000 in (Path(job.base).parent / "out" / "reference.log").read_bytes()


def test_a_port_cannot_change_the_references_calls_and_a_changed_library_shows(job: Job) -> None:
    evidence = run(job, "port meddles")
    assert evidence.reference.exit == "ended"
    assert checks(evidence) == {"library"}
