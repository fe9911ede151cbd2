"""`tileport` at the command line: what it prints, and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def tileport(*args: str, state: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tileport_driver", *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TILEPORT_STATE": str(state), "COLUMNS": "200", **environment},
    )


def test_ops_lists_operators_with_their_names_and_ports(target: Path, tmp_path: Path) -> None:
    done = tileport("ops", "--repo", str(target), "--json", state=tmp_path)
    assert done.returncode == 0
    listed = {operator["name"]: operator for operator in json.loads(done.stdout)}
    assert listed["scale"]["ported"] is True
    assert listed["scale"]["tests"] == ["tests/ops/test_scale.py"]
    assert listed["rms_norm"]["aliases"] == ["get_rms_norm_module", "rms_norm"]
    assert listed["rms_norm"]["kernels"] == ["rms_kernel"]


def test_ops_is_a_table_for_people(target: Path, tmp_path: Path) -> None:
    done = tileport("ops", "--repo", str(target), state=tmp_path)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["scale", "1", "1", "yes"] in rows
    assert ["rms_norm", "get_rms_norm_module", "1"] in rows


def test_an_unknown_operator_exits_12_with_the_nearest_names(target: Path, tmp_path: Path) -> None:
    done = tileport("port", "scal", "--repo", str(target), "--live", state=tmp_path)
    assert done.returncode == 12
    assert "The nearest: scale" in done.stdout


def test_a_refusal_is_json_too(target: Path, tmp_path: Path) -> None:
    done = tileport("port", "scal", "--repo", str(target), "--live", "--json", state=tmp_path)
    assert json.loads(done.stdout)["outcome"]["kind"] == "refused"


@pytest.mark.parametrize(
    "args",
    [
        ["port", "scale"],
        ["port", "scale", "--live", "--script", "x"],
        ["port", "scale", "--engine", "none", "--live"],
        ["port", "scale", "--engine", "some"],
        ["prot"],
    ],
)
def test_a_usage_error_exits_2(args: list[str], tmp_path: Path) -> None:
    assert tileport(*args, state=tmp_path).returncode == 2


def test_no_docker_exits_13_and_says_that_no_attempt_is_spent(target: Path, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("- reply: [{text: done}]\n")
    nowhere = {"DOCKER_HOST": "unix:///nonexistent.sock", "PATH": "/nonexistent:/usr/bin:/bin"}
    command = ["port", "scale", "--repo", str(target), "--script", str(tmp_path)]
    without = {**nowhere, "TILEPORT_CACHE": str(tmp_path / "cache")}
    done = tileport(*command, state=tmp_path / "state", **without)
    assert done.returncode == 13, done.stdout + done.stderr
    assert "apt-get install docker.io" in done.stdout
    assert "tileport resume scale-" in done.stdout


def test_show_and_resume_without_an_attempt_say_how_to_make_one(tmp_path: Path) -> None:
    for command in (["show"], ["resume", "x"]):
        done = tileport(*command, state=tmp_path)
        assert done.returncode == 12
        assert "tileport port OP" in done.stderr


def test_an_attempt_is_found_by_its_beginning_and_shown_unfinished(target: Path, tmp_path: Path) -> None:
    from tileport_driver.records import PortRequest
    from tileport_driver.store import new_attempt

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEPORT_STATE", str(tmp_path))
        request = PortRequest(
            repository=str(target), operator="scale", base_commit="0" * 40, reference_hash="0" * 64, engine="anthropic"
        )
        attempt = new_attempt(request)
    done = tileport("show", "scale", state=tmp_path)
    assert done.returncode == 0
    assert f"tileport resume {attempt.id}" in done.stdout


def test_a_damaged_record_is_named(target: Path, tmp_path: Path) -> None:
    test_an_attempt_is_found_by_its_beginning_and_shown_unfinished(target, tmp_path)
    (folder,) = (tmp_path / "attempts").iterdir()
    (folder / "outcome.json").write_text('{"kind": "ported"}')
    done = tileport("show", state=tmp_path)
    assert done.returncode == 13
    assert "outcome.json is damaged" in done.stderr
