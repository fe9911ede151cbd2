"""Whole ports by roles with scripted answers: which role ran, and with which verdict, is what validators made of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.role_scripts import Played, add_spread, draft_into, hidden_tree, play, script_of
from tileport_skill.pipeline.diagnosis import Diagnosis
from tileport_skill.pipeline.machine import Complete

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
    played = play(script_of("no_owner"), "scale", scale)
    assert played.route == ["preflight: pass", "analyzer: pass", "kernel-writer: equal", "host-builder: fail"]
    assert played.ended.state == "failed"
    found = diagnosis(played)
    assert (found.why, found.owner) == ("a failure without an owner", "unknown")


def test_a_report_that_says_all_is_well_of_files_that_are_wrong_is_caught_each_time(scale: Path) -> None:
    played = play(script_of("false_report"), "scale", scale)
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
    played = play(script_of("broken_environment"), "scale", scale)
    assert played.route == ["preflight: fail"]
    assert played.sent == ()
    found = diagnosis(played)
    assert (found.owner, found.seen) == ("environment", True)
    assert "emitter" in found.last.problems[0]


WHOLE = [
    "preflight: pass",
    "analyzer: pass",
    "kernel-writer: equal",
    "host-builder: pass",
    "performance-verifier: not-run",
]


@pytest.mark.soak  # each drafts, builds the crate and compares everything that the operator's tests launch
@pytest.mark.parametrize("operator", ["silu_and_mul", "softmax", "rms_norm", "matmul"])
def test_an_operator_is_ported_by_its_roles(operator: str, tmp_path: Path) -> None:
    tree = hidden_tree(operator, tmp_path)
    if operator == "silu_and_mul":  # the demo's script, which begins at a draft that the driver has made
        draft_into(tree, operator)
    played = play(script_of(operator), operator, tmp_path, drafted=operator == "silu_and_mul")
    assert played.route == WHOLE, played.ended.reason
    assert played.ended.state == "finished"
    checked = played.work.history()[2]
    assert checked.facts, "nothing was compared"
    assert played.work.step() == Complete("inconclusive")
    written = {line["path"]: line["by"] for line in contract(played)}
    kernel = f"tilegym/ops/cutile_rs/{operator}_kernel/kernel.rs"
    assert written[kernel] == "kernel-writer"
    assert not (tree / "tilegym/ops/cutile_rs/cutile_kernels/Cargo.lock").exists()


@pytest.mark.soak
def test_an_operator_that_nobody_can_prove_yet_ends_as_a_diagnosis(tmp_path: Path) -> None:
    hidden_tree("group_gemm", tmp_path)
    played = play(script_of("group_gemm"), "group_gemm", tmp_path)
    assert played.route == ["preflight: pass", "analyzer: pass", "kernel-writer: blocked"]
    found = diagnosis(played)
    assert (found.why, found.owner) == ("the kernel writer was blocked", "compiler")


@pytest.mark.soak
def test_a_wrong_axis_goes_to_the_analyst_back_to_the_writer_and_passes(tmp_path: Path) -> None:
    hidden_tree("spread", tmp_path, add_spread)
    played = play(script_of("wrong_axis"), "spread", tmp_path)
    assert played.route == [
        "preflight: pass",
        "analyzer: pass",
        "kernel-writer: not-equal (said equal)",
        "ir-analyst: fail-kernel",
        "kernel-writer: equal",
        "host-builder: pass",
        "performance-verifier: not-run",
    ], played.ended.reason


@pytest.mark.soak
def test_strides_in_the_wrong_order_are_the_hosts_and_its_second_run_repairs_them(tmp_path: Path) -> None:
    hidden_tree("spread", tmp_path, add_spread)
    played = play(script_of("host_stride"), "spread", tmp_path)
    assert played.route == [
        "preflight: pass",
        "analyzer: pass",
        "kernel-writer: equal",
        "host-builder: fail-host (said pass)",
        "host-builder: pass",
        "performance-verifier: not-run",
    ], played.ended.reason


def contract(played: Played) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((played.work.root / "contract.json").read_text())["files"]
    return found
