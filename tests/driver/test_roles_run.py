"""What a port by roles left is read as its container's word: bounded, no link followed, damage no failure of ours."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from tileport_driver.outcome import decide
from tileport_driver.records import AgentRun, NotPorted, Usage
from tileport_driver.roles_run import machine_lacks, read_diagnosis, read_turns
from tileport_skill.pipeline.diagnosis import Diagnosis, diagnose
from tileport_skill.pipeline.machine import Stop
from tileport_skill.pipeline.records import Entry, Problem
from tileport_skill.pipeline.verdicts import Role, Verdict


def entry(number: int, role: Role, verdict: Verdict, *problems: str, claimed: Verdict | None = None) -> Entry:
    return Entry(
        number=number,
        role=role,
        verdict=verdict,
        claimed=claimed,
        problems=tuple(Problem(owner=verdict, text=text) for text in problems),
        facts=("one kernel is equal",),
        report=None,
        report_sha256=None,
        tree={"kernel.rs": "0" * 64},
        at="2026-01-01T00:00:00+00:00",
    )


HISTORY = (
    entry(1, Role.PREFLIGHT, Verdict.PASS),
    entry(2, Role.HOST_BUILDER, Verdict.FAIL_HOST, "a stride is the other axis's", claimed=Verdict.PASS),
)
FOUND = diagnose(Stop("host-builder has had its 2 runs"), HISTORY)


def written(folder: Path) -> Path:
    lines = [json.dumps(TypeAdapter(Entry).dump_python(one, mode="json")) for one in HISTORY]
    (folder / "history.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "diagnosis.json").write_bytes(TypeAdapter(Diagnosis).dump_json(FOUND))
    return folder


def test_runs_and_diagnosis_are_read_as_they_were_written(tmp_path: Path) -> None:
    written(tmp_path)
    assert [(turn.role, turn.verdict, turn.claimed) for turn in read_turns(tmp_path)] == [
        (Role.PREFLIGHT, Verdict.PASS, None),
        (Role.HOST_BUILDER, Verdict.FAIL_HOST, Verdict.PASS),
    ]
    assert read_diagnosis(tmp_path) == FOUND
    assert (FOUND.owner, FOUND.seen) == ("host", True)


def test_nothing_there_is_nothing_said(tmp_path: Path) -> None:
    assert read_turns(tmp_path) == ()
    assert read_diagnosis(tmp_path) is None


@pytest.mark.parametrize("damage", [b"{}", b"\xff\xfe", b"[" * 100_000, b'{"why": 1}'])
def test_what_was_damaged_from_inside_is_left_out(tmp_path: Path, damage: bytes) -> None:
    written(tmp_path)
    with (tmp_path / "history.jsonl").open("ab") as file:
        file.write(damage + b"\n")
    (tmp_path / "diagnosis.json").write_bytes(damage)
    assert len(read_turns(tmp_path)) == 2
    assert read_diagnosis(tmp_path) is None


def test_neither_links_nor_pipes_are_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    written(secret)
    folder = tmp_path / "roles"
    folder.mkdir()
    (folder / "history.jsonl").symlink_to(secret / "history.jsonl")
    os.mkfifo(folder / "diagnosis.json")
    assert read_turns(folder) == ()
    assert read_diagnosis(folder) is None


def test_a_port_that_was_given_up_is_not_ported_and_says_why() -> None:
    run = AgentRun(status="failed", exit_code=1, seconds=1, turns=1, usage=Usage(), summary="see /port", given_up=FOUND)
    outcome = decide(run, None, None)
    assert isinstance(outcome, NotPorted)
    assert outcome.reasons == (
        "The roles gave the port up: host-builder has had its 2 runs, after 2 runs; the last was host-builder's: "
        "fail-host.",
        "a stride is the other axis's",
    )


def test_what_preflight_missed_is_the_machines_fault_and_no_attempts() -> None:
    lacking = (entry(1, Role.PREFLIGHT, Verdict.FAIL, "cargo: install it"),)
    found = diagnose(Stop("this machine lacks what a port needs"), lacking)
    assert "cargo: install it" in (machine_lacks(found) or "")
    assert machine_lacks(FOUND) is None
    assert machine_lacks(None) is None
