"""What was measured on an H200, judged again: the same samples give the same results."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.skill.timing.conftest import RECORDED

from tileport_skill.timing import gate, picture
from tileport_skill.timing.records import Failed, Inconclusive, Passed, Timing

A_DAY_LATER = RECORDED.parent / "2026-12-01-h200"
FOLDERS = ("ours", "tilegym-1.5.1")


def rounded(value: Any) -> Any:
    """To six digits: the last ones may differ between processors."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def timing_of(folder: str, operator: str) -> Timing:
    return gate.read(RECORDED / folder, (operator,))[0]


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All five ports that TileGym ships, unpacked."""
    folder = tmp_path_factory.mktemp("five")
    with tarfile.open(RECORDED / "tilegym-1.5.1-six-processes.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_the_same_goes_for_the_run_of_all_five_shipped_ports(five: Path) -> None:
    timings = gate.read(five)
    found = TypeAdapter(tuple[Timing, ...]).dump_python(timings, mode="json")
    kept = json.loads((five / "results.json").read_text(encoding="utf-8"))
    assert rounded(json.loads(json.dumps(found))) == rounded(kept)
    assert {timing.operator: type(timing.verdict) for timing in timings} == {
        "silu_and_mul": Failed,
        "attention_sink": Inconclusive,
        "bmm": Failed,
        "swiglu": Failed,
        "matmul": Failed,
    }
    assert all(row.null is not None and 0.98 < row.null.low <= row.null.high < 1.02 for t in timings for row in t.rows)


@pytest.mark.parametrize(
    ("archive", "folder", "verdicts"),
    [
        (
            "drafts-five-processes",
            "drafts",
            {"rms_norm": Passed, "gelu": Passed, "relu": Passed, "swiglu": Inconclusive},
        ),
        ("attention-sink-six-processes", "attention_sink", {"attention_sink": Failed}),
    ],
)
def test_a_day_later_the_same_samples_give_the_same_results_too(
    archive: str, folder: str, verdicts: dict[str, type], tmp_path: Path
) -> None:
    with tarfile.open(A_DAY_LATER / f"{archive}.tar.xz") as opened:
        opened.extractall(tmp_path, filter="data")
    timings = gate.read(tmp_path / folder)
    found = TypeAdapter(tuple[Timing, ...]).dump_python(timings, mode="json")
    kept = json.loads((tmp_path / folder / "results.json").read_text(encoding="utf-8"))
    assert rounded(json.loads(json.dumps(found))) == rounded(kept)
    assert {timing.operator: type(timing.verdict) for timing in timings} == verdicts


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_results_kept_are_those_of_the_samples_kept(folder: str) -> None:
    found = TypeAdapter(tuple[Timing, ...]).dump_python(gate.read(RECORDED / folder), mode="json")
    kept = json.loads((RECORDED / folder / "results.json").read_text(encoding="utf-8"))
    assert rounded(json.loads(json.dumps(found))) == rounded(kept)


def test_our_port_of_silu_and_mul_passes_every_row() -> None:
    timing = timing_of("ours", "silu_and_mul")
    assert timing.verdict == Passed()
    assert [row.verdict for row in timing.rows] == [Passed()] * 9
    assert all(row.processes == 6 and row.null is not None and row.null.width < 0.02 for row in timing.rows)


def test_tilegyms_swiglu_is_too_slow_on_its_smallest_row_and_on_the_next_one_it_is_not_decided() -> None:
    """The run was broken off after five processes; the interval of the undecided row includes 0.95."""
    timing = timing_of("tilegym-1.5.1", "swiglu")
    assert isinstance(timing.verdict, Failed)
    by_row = {row.row: row.verdict for row in timing.rows if row.verdict != Passed()}
    assert list(by_row) == ["8x1x4096,float32", "1x128x1024,float16"]
    assert isinstance(by_row["8x1x4096,float32"], Failed)
    assert isinstance(by_row["1x128x1024,float16"], Inconclusive)


def test_four_processes_of_matmul_decide_nothing_however_clear_they_look() -> None:
    timing = timing_of("tilegym-1.5.1", "matmul")
    assert isinstance(timing.verdict, Inconclusive)
    persistent = [row.cold for row in timing.rows if row.row.endswith(",persistent")]
    assert all(found is not None and found.high < 0.95 for found in persistent)
    dropped = {configuration for row in timing.rows for configuration, _why in row.reference.tuned.dropped}
    assert len(dropped) == 2


def test_all_of_it_can_be_drawn() -> None:
    drawn = picture.svg([timing for folder in FOLDERS for timing in gate.read(RECORDED / folder)])
    assert drawn.count('class="interval') == 29
