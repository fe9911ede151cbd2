"""From a checkout to a folder for a GPU, without one: TileGym's wheel, few candidates, real compilers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.skill.capture.measure import wheel_checkout
from tests.skill.tuning.conftest import DEVICE, STANDIN
from typer.testing import CliRunner

from tileport_skill.__main__ import app
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, find_operator, read_operators
from tileport_skill.timing import gate
from tileport_skill.timing.raw import read_json
from tileport_skill.tuning import campaign
from tileport_skill.tuning.pack import pack
from tileport_skill.tuning.tune import Prepared, lay_out, prepare


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return wheel_checkout(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def prepared(checkout: Checkout) -> Prepared:
    return prepare(checkout, find_operator(read_operators(checkout), "relu"), "sm_90", minutes=20, most=3)


def test_every_kernel_of_a_plan_is_carried_by_the_key_a_launch_asks_for(prepared: Prepared, tmp_path: Path) -> None:
    folder = lay_out([prepared], "sm_90", tmp_path)
    plan, keys = read_json(folder.plan), read_json(folder.keys)
    calls = plan["operators"]["relu"]["calls"]
    assert prepared.assembled == prepared.kernels > 0
    assert {path.stem for path in folder.cubins.glob("*.cubin")} == set(keys.values())
    assert [call["held_out"] for call in calls].count(True) == 1
    assert all(call["contenders"] for call in calls if not call["held_out"])
    assert all(call["work"]["bytes"] > 2 * 1048576 for call in calls)
    lay_out([prepared], "sm_90", tmp_path)
    with pytest.raises(RequestError, match="begun with another plan"):
        lay_out([], "sm_90", tmp_path)


def test_a_pack_holds_all_that_a_machine_with_a_gpu_needs(
    checkout: Checkout, prepared: Prepared, tmp_path: Path
) -> None:
    folder = lay_out([prepared], "sm_90", tmp_path / "raw")
    size = pack(checkout, folder.root, tmp_path / "pack")
    assert size < 60 << 20
    with tarfile.open(tmp_path / "pack" / "tuning" / "cubins.tar.xz") as archive:
        assert sum(name.endswith(".cubin") for name in archive.getnames()) == len(list(folder.cubins.iterdir()))
    assert (tmp_path / "pack" / "tree" / "tilegym" / "ops" / "cutile" / "activation" / "relu.py").is_file()
    with pytest.raises(RequestError, match="is not empty"):
        pack(checkout, folder.root, tmp_path / "pack")


def test_what_is_packed_imports_without_the_rest_of_the_skill(
    checkout: Checkout, prepared: Prepared, tmp_path: Path
) -> None:
    pack(checkout, lay_out([prepared], "sm_90", tmp_path / "raw").root, tmp_path / "pack")
    forbidden = "import sys; sys.modules.update(dict.fromkeys(('pydantic', 'typer', 'rich', 'jinja2')))"
    names = ("campaign", "halving", "inside.probe", "inside.search", "inside.confirm")
    modules = ", ".join(f"tileport_skill.tuning.{name}" for name in names)
    done = subprocess.run(
        [sys.executable, "-c", f"{forbidden}; import {modules}; print(tileport_skill.__file__)"],
        env={"PYTHONPATH": os.pathsep.join(map(str, (tmp_path / "pack" / "skill", STANDIN, DEVICE)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) in done.stdout


def test_a_pack_runs_for_operators_named_behind_its_script(
    checkout: Checkout, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(checkout, lay_out([prepared], "sm_90", tmp_path / "raw").root, tmp_path / "pack")
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(campaign.Campaign, "run", lambda _, operators: not asked.append(operators))
    line = (tmp_path / "pack" / "run.sh").read_text().partition("campaign ")[2].replace("\\\n", " ")
    given = ["--repo", str(tmp_path / "pack" / "tree"), "--seconds", "1", "relu"]
    assert line.split()[:2] == ["tuning", "--repo"]
    assert line.split()[-1] == '"$@"'
    assert campaign.main([str(tmp_path / "pack" / "tuning"), *given]) == 0
    assert asked == [["relu"]]


def test_without_a_gpu_the_plan_is_kept_and_what_to_do_is_said(
    checkout: Checkout, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "missing", lambda: "An NVIDIA GPU is needed.")
    monkeypatch.setattr("tileport_skill.tuning.cli.prepare", lambda *_, **__: prepared)
    result = CliRunner().invoke(app, ["tune", "relu", "--repo", str(checkout.root), "--raw", str(tmp_path), "--json"])
    assert result.exit_code == 11
    assert "An NVIDIA GPU is needed." in result.stderr
    assert "--pack FOLDER" in result.stderr
    assert json.loads(result.stdout)[0]["operator"] == "relu"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name the operators to tune"),
        (["reluu"], "The nearest: relu"),
        (["relu", "--arch", "sm_70"], "No device profile for 'sm_70'"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], said: str, checkout: Checkout) -> None:
    result = CliRunner().invoke(app, ["tune", *arguments, "--repo", str(checkout.root)])
    assert isinstance(result.exception, RequestError)
    assert said in str(result.exception)
