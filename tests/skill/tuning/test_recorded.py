"""What was tuned on an H200, judged again from its samples."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tileport_skill.errors import RequestError
from tileport_skill.tuning.findings import findings
from tileport_skill.tuning.folder import TuningFolder
from tileport_skill.tuning.judged import judged

RECORDED = Path(__file__).parents[2] / "data" / "tuning" / "2026-12-01-h200"


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> TuningFolder:
    folder = tmp_path_factory.mktemp("tuned")
    with tarfile.open(RECORDED / "tuning.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return TuningFolder(folder / "tuning")


def test_softmax_is_faster_by_its_other_kernel_and_one_of_its_classes_does_not_stand(tuned: TuningFolder) -> None:
    tuning = judged(tuned, "softmax")
    chosen = {row.call: row.result.cold for row in tuning.rows if row.stands and "winner" in row.why}
    assert len(chosen) == 5
    assert all(cold is not None and cold.low > 1.01 for cold in chosen.values())
    fastest = chosen["m=4096,n=4096,bfloat16"]
    assert fastest is not None
    assert (round(fastest.ratio, 3), round(fastest.low, 3)) == (1.237, 1.226)
    assert "does not stand on m=4096,n=16384,bfloat16" in tuning.fallen[0][1]


def test_a_kernel_without_configurations_is_told_its_hints(tuned: TuningFolder) -> None:
    (found,) = findings(judged(tuned, "gemma_attention"))
    assert "1.79 times as fast as what it chooses itself, measured on 1 shape (NVIDIA H200, 2026-12-01)" in found.text
    assert "launch `_gemma_fmha_kernel.replace_hints(num_ctas=2)`" in found.text


def test_what_ran_out_of_time_is_not_judged(tuned: TuningFolder) -> None:
    with pytest.raises(RequestError, match="attention is not measured to the end"):
        judged(tuned, "attention")
