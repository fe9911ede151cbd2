"""What was measured, judged: classes that stand or fall, the table, and the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.skill.tuning.conftest import WIDE, tiled
from tests.skill.tuning.measured import Measured
from typer.testing import CliRunner

from tileport_skill.__main__ import app
from tileport_skill.errors import RequestError
from tileport_skill.timing.records import Failed, Inconclusive
from tileport_skill.tuning import report
from tileport_skill.tuning.candidates import Choice
from tileport_skill.tuning.findings import findings
from tileport_skill.tuning.folder import TuningFolder
from tileport_skill.tuning.judged import judged
from tileport_skill.tuning.table import read_table

FAST = tiled(128, 2)
EVERYWHERE = {(FAST, width): 1.5 for width in (256, 384, 512)}


def test_a_class_that_is_faster_everywhere_makes_a_line(tmp_path: Path) -> None:
    tuning = judged(Measured(widths=(256, 512), held_out=(384,), true=EVERYWHERE).write(tmp_path), "softmax")
    (line,) = tuning.table.lines
    assert line.of == "_softmax_kernel"
    assert line.where == ((0, "dtype", "float32", "float32"), (0, 0, 64, 64), (0, 1, 256, 512))
    assert line.fields == {"TILE": 128, "occupancy": 2}
    assert 1.45 < line.low < line.ratio < line.high < 1.55
    assert len(line.shapes) == 3
    assert not tuning.fallen


def test_held_out_shapes_decide_whether_a_class_stands(tmp_path: Path) -> None:
    true = {**EVERYWHERE, (FAST, 384): 0.9}
    tuning = judged(Measured(widths=(256, 512), held_out=(384,), true=true).write(tmp_path), "softmax")
    assert len(tuning.fallen) == 1
    assert "does not stand on m=64,n=384,float32" in tuning.fallen[0][1]
    assert [one.shapes for one in tuning.standing] == [("m=64,n=256,float32",), ("m=64,n=512,float32",)]
    bounds = {bound for line in tuning.table.lines for bound in line.where if bound[1] == 1}
    assert bounds == {(0, 1, 256, 256), (0, 1, 512, 512)}, "each shape keeps its own winner, for itself alone"


def test_a_gpu_that_is_shared_or_throttled_gives_no_result_and_no_line(tmp_path: Path) -> None:
    shared = Measured(widths=(256, 512), true=EVERYWHERE, record={"before": {**_state(), "processes": 2}})
    tuning = judged(shared.write(tmp_path), "softmax")
    assert {type(row.result.verdict) for row in tuning.rows} == {Inconclusive}
    assert tuning.table.is_empty


def test_too_few_processes_give_no_result(tmp_path: Path) -> None:
    tuning = judged(Measured(widths=(256,), true=EVERYWHERE, processes=3).write(tmp_path), "softmax")
    assert tuning.table.is_empty


@pytest.mark.parametrize(
    "record",
    [
        {"outputs": [{"problem": "3 of 9 elements differ", "largest": 1.0}] * 2},
        {"inputs_changed": True},
        {"error": {"side": "chosen", "what": "RuntimeError: no such tile"}},
    ],
)
def test_a_choice_that_is_wrong_makes_no_line_however_fast(record: dict[str, object], tmp_path: Path) -> None:
    tuning = judged(Measured(widths=(256,), true=EVERYWHERE, record=record).write(tmp_path), "softmax")
    assert {type(row.result.verdict) for row in tuning.rows} == {Failed}
    assert tuning.table.is_empty


def test_where_nothing_is_faster_the_reference_keeps_its_choice(tmp_path: Path) -> None:
    tuning = judged(Measured(widths=(256, 512)).write(tmp_path), "softmax")
    assert tuning.table.is_empty
    assert report.mean_of(tuning) in (None, 1.0)


def test_options_get_a_line_of_the_function_and_a_column_of_their_own(tmp_path: Path) -> None:
    true = {(WIDE, 256): 1.4, (WIDE, 512): 1.4, (FAST, 1024): 2.0, (WIDE, 1024): 1.25}
    tuning = judged(Measured(widths=(256, 512, 1024), true=true).write(tmp_path), "softmax")
    by_name = {line.of: line for line in tuning.table.lines}
    assert by_name["softmax()"].options == {"use_wide": True}
    assert by_name["softmax()"].where == (("x", "dtype", "float32", "float32"), ("x", 0, 64, 64), ("x", 1, 256, 512))
    rows = {row["call"]: row for row in report.summary(tuning)["rows"]}
    assert rows["m=64,n=1024,float32"]["against_best_option"] == pytest.approx(1.6, rel=0.02)
    assert rows["m=64,n=256,float32"]["against_best_option"] == pytest.approx(1.0)


def test_copies_are_dropped_where_it_is_faster_on_every_call(tmp_path: Path) -> None:
    bare = Choice(copies=False)
    true = {(bare, width): 1.3 for width in (256, 384, 512)}
    asked = Measured(widths=(256, 512), held_out=(384,), true=true, more=(bare,))
    assert judged(asked.write(tmp_path / "faster"), "softmax").table.copies is False
    asked.true = {**true, (bare, 512): 0.9}
    assert judged(asked.write(tmp_path / "slower"), "softmax").table.copies is True


def test_the_roofline_is_of_memory_where_nobody_counts_operations(tmp_path: Path) -> None:
    tuning = judged(Measured(widths=(256, 512), true=EVERYWHERE).write(tmp_path), "softmax")
    row = tuning.chosen("m=64,n=256,float32")
    assert row is not None
    assert row.memory_only
    assert row.before is not None
    assert row.after == pytest.approx(1.5 * row.before, rel=0.02)


def test_what_is_found_names_kernel_measurement_and_change(tmp_path: Path) -> None:
    (found,) = findings(judged(Measured(widths=(256, 512), true=EVERYWHERE).write(tmp_path), "softmax"))
    assert "softmax on sm_90, _softmax_kernel (tilegym/ops/cutile/softmax.py:16): 1.5" in found.text
    assert "Smallest change: add to its configurations" in found.text
    assert "namespace(TILE=128, occupancy=2)" in found.text


def test_a_folder_is_judged_from_the_command_line(tmp_path: Path) -> None:
    folder = Measured(widths=(256, 512), held_out=(384,), true=EVERYWHERE).write(tmp_path / "raw")
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["tune", "--from", str(folder.root), "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)[0]["lines"] == 1
    assert len(read_table(out / "softmax.sm_90.json").lines) == 1
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "m=64,n=384,float32 (held out)" in page


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no tuning of relu"):
        judged(Measured(widths=(256,)).write(tmp_path), "relu")
    result = CliRunner().invoke(app, ["tune", "--from", str(tmp_path / "nowhere")])
    assert isinstance(result.exception, RequestError)


def test_what_is_not_measured_to_the_end_is_not_judged(tmp_path: Path) -> None:
    folder = Measured(widths=(256,)).write(tmp_path)
    TuningFolder(tmp_path).jobs("softmax").unlink()
    with pytest.raises(RequestError, match="not measured to the end"):
        judged(folder, "softmax")


def _state() -> dict[str, object]:
    from tests.skill.timing.raw_samples import STATE

    return dict(STATE)
