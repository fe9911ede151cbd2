"""A tuning rehearsed on a stand-in device: real processes and files, a made-up clock (see standin/)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tileport_skill.timing.raw import write_json
from tileport_skill.tuning.campaign import Campaign
from tileport_skill.tuning.candidates import Candidate, Choice, plain
from tileport_skill.tuning.folder import TuningFolder

STANDIN = Path(__file__).parent / "standin"
DEVICE = Path(__file__).parents[1] / "timing" / "standin" / "device"
KERNEL = "_softmax_kernel"

Rehearse = Callable[..., TuningFolder]


def tiled(tile: int, occupancy: int = 1) -> Choice:
    fields = (("TILE", tile), ("occupancy", occupancy))
    return Choice(kernels=((KERNEL, Candidate(fields=fields, hints=(("occupancy", occupancy),))),))


WIDE = Choice(options=(("use_wide", True),))
CONTENDERS = (WIDE, tiled(16), tiled(128), tiled(128, 2), tiled(256), tiled(512))


def document(widths: tuple[int, ...], held_out: tuple[int, ...]) -> dict[str, Any]:
    """A plan of softmax on the stand-in, as `plan.py` writes one."""
    calls = [_call(number, width, width in held_out) for number, width in enumerate((*widths, *held_out))]
    return {
        "format": 1,
        "operator": "softmax",
        "names": ["softmax"],
        "arch": "sm_90",
        "versions": {"cuda-tile": "1.7.0", "tileiras": "13.4.92"},
        "reference": "tilegym/ops/cutile/softmax.py",
        "reference_sha256": "00",
        "places": {KERNEL: "tilegym/ops/cutile/softmax.py:16"},
        "rtol": 1e-3,
        "atol": 1e-5,
        "calls": calls,
    }


def _call(number: int, width: int, held_out: bool) -> dict[str, Any]:
    sizes = [[0, "dtype", "float32"], [0, 0, 64], [0, 1, width]]
    return {
        "id": f"m=64,n={width},float32",
        "number": number,
        "arguments": {"m": 64, "n": width, "dtype": "float32"},
        "held_out": held_out,
        "function": "softmax",
        "ways": [plain(Choice()), plain(WIDE)],
        "contenders": [] if held_out else [plain(one) for one in CONTENDERS],
        "features": {
            "call": [["x", part, value] for _, part, value in sizes],
            "kernels": {KERNEL: sizes, "_softmax_kernel_wide": sizes},
        },
        "work": {"bytes": 8 * 64 * width},
    }


@pytest.fixture
def rehearse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rehearse:
    """`rehearse(widths, held_out, fault=…)`: the folder of a whole tuning."""

    def run(
        widths: tuple[int, ...], held_out: tuple[int, ...] = (), fault: str = "", processes: int = 2
    ) -> TuningFolder:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (STANDIN, DEVICE))))
        monkeypatch.setenv("STANDIN_FAULT", fault)
        folder = TuningFolder(tmp_path / "tuning")
        operators = {"softmax": document(widths, held_out)}
        write_json(folder.plan, {"arch": "sm_90", "operators": operators})
        campaign = Campaign(folder, STANDIN, 2000.0, say=lambda _text: None, hangs=1000.0, processes=processes)
        assert campaign.run()
        return folder

    return run
