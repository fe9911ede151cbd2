"""`tileport-skill bench` on samples taken elsewhere, on a machine without a GPU, and asked for what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.skill.timing.raw_samples import OPERATOR, Made
from typer.testing import CliRunner

from tileport_skill.__main__ import app
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import open_checkout
from tileport_skill.timing import gate
from tileport_skill.timing.campaign import check_machine, find_library, start
from tileport_skill.timing.plan import make_plan, port_entries
from tileport_skill.timing.raw import RawFolder
from tileport_skill.timing.records import NotRun

CHECKOUT = Path(__file__).parent / "standin" / "checkout"


def bench(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["bench", *map(str, arguments)])
    if isinstance(result.exception, RequestError):
        return 12, str(result.exception)
    return result.exit_code, result.output


@pytest.mark.parametrize(("ratio", "status"), [(1.0, 0), (0.9, 10)])
def test_earlier_samples_are_judged_without_a_gpu(ratio: float, status: int, tmp_path: Path) -> None:
    Made(ratio=ratio).write(tmp_path / "raw")
    code, said = bench("--from", tmp_path / "raw", "--svg", tmp_path / "ratios.svg")
    assert code == status
    assert "16x512" in said
    assert "CUPTI ÷ events 2.100" in said
    assert (tmp_path / "ratios.svg").read_text(encoding="utf-8").startswith("<svg")


def test_undecided_samples_have_a_status_of_their_own(tmp_path: Path) -> None:
    Made(processes=3).write(tmp_path)
    assert bench("--from", tmp_path)[0] == 11


def test_json_holds_every_row_with_its_verdict(tmp_path: Path) -> None:
    Made().write(tmp_path)
    code, said = bench("--from", tmp_path, "--json")
    timing = json.loads(said)[0]
    assert code == 0
    assert timing["verdict"] == {"verdict": "passed"}
    assert timing["rows"][0]["cold"]["low"] > 0.95


def test_a_folder_without_samples_is_refused(tmp_path: Path) -> None:
    assert bench("--from", tmp_path) == (12, f"{tmp_path} is no folder of raw samples: it has no plan.json.")


def test_without_a_gpu_nothing_is_run_and_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "missing", lambda: "An NVIDIA GPU is needed, and this machine has no NVIDIA driver.")
    library = tmp_path / "libcutile_kernels.so"
    library.touch()
    request = gate.Request(
        checkout=open_checkout(CHECKOUT), operators=("silu_and_mul",), raw=tmp_path / "raw", library=library
    )
    found = gate.run(request)
    assert isinstance(found, NotRun)
    assert "no NVIDIA driver" in found.why
    assert f"tileport-skill bench silu_and_mul --repo {CHECKOUT}" in found.how
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["silu_and_mull"], "The nearest: silu_and_mul"),
        ([], "Name the operators to time"),
        (["silu_and_mul", "--baseline", "torch"], "--baseline is one of cutile, triton, not 'torch'"),
        (["silu_and_mul", "--candidate", "cuda"], "--candidate is cutile-rs, not 'cuda'"),
        (["silu_and_mul"], "Build it with `cargo build --release`"),
        (["silu_and_mul", "--library", "nowhere.so"], "nowhere.so does not exist"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_to_do(arguments: list[str], said: str) -> None:
    code, answer = bench(*arguments, "--repo", CHECKOUT)
    assert code == 12
    assert said in answer


def test_a_checkout_without_the_port_is_refused(tmp_path: Path) -> None:
    reference = tmp_path / "tilegym/ops/cutile"
    reference.mkdir(parents=True)
    (tmp_path / "tilegym/ops/cutile_rs").mkdir()
    source = (CHECKOUT / "tilegym/ops/cutile/silu_and_mul.py").read_text(encoding="utf-8")
    (reference / "silu_and_mul.py").write_text(source, encoding="utf-8")
    code, said = bench("silu_and_mul", "--repo", tmp_path)
    assert code == 12
    assert "holds no cuTile Rust port of silu_and_mul" in said


def test_a_library_built_elsewhere_stands_in_for_the_checkouts_own(tmp_path: Path) -> None:
    library = tmp_path / "libcutile_kernels.so"
    library.touch()
    assert find_library(open_checkout(CHECKOUT), library) == library


def test_entries_are_read_from_every_port_whatever_their_attributes() -> None:
    assert port_entries(open_checkout(CHECKOUT)) == ["silu_entry"]


def test_a_folder_begun_with_another_plan_is_not_continued(tmp_path: Path) -> None:
    plan = make_plan(open_checkout(CHECKOUT), ["silu_and_mul"])
    start(RawFolder(tmp_path), plan)
    start(RawFolder(tmp_path), plan)
    with pytest.raises(RequestError, match="begun with another plan"):
        start(RawFolder(tmp_path), plan | {"processes": 9})


def test_a_trial_spreads_its_rows_over_the_list() -> None:
    checkout = open_checkout(CHECKOUT)
    whole, trial = (make_plan(checkout, ["silu_and_mul"], most_rows=most) for most in (None, 3))
    rows = [[row["id"] for row in plan["operators"]["silu_and_mul"]["rows"]] for plan in (whole, trial)]
    assert rows[1] == rows[0][::3]
    assert trial["operators"]["silu_and_mul"]["left_out"] == len(rows[0]) - 3


MACHINE = {"backends": ["cutile", "cutile-rs", "triton"], "triton_tileir": False}


def test_plain_triton_is_no_baseline() -> None:
    with pytest.raises(RequestError, match=r"needs Triton-TileIR.*ENABLE_TILE=1"):
        check_machine(MACHINE, {"baseline": "triton", "candidate": "cutile-rs"})
    check_machine(MACHINE | {"triton_tileir": True}, {"baseline": "triton", "candidate": "cutile-rs"})


def test_a_backend_that_tilegym_does_not_have_here_is_named() -> None:
    with pytest.raises(RequestError, match="no backend 'cutile-rs' on this machine, only cutile"):
        check_machine(MACHINE | {"backends": ["cutile"]}, {"baseline": "cutile", "candidate": "cutile-rs"})


def test_samples_of_one_operator_can_be_asked_for_alone(tmp_path: Path) -> None:
    Made().write(tmp_path)
    assert [timing.operator for timing in gate.read(tmp_path, (OPERATOR,))] == [OPERATOR]
