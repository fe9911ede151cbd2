"""Campaigns rehearsed on a stand-in device: real processes and files, a made-up clock (see standin/)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tileport_skill.tilegym.operators import open_checkout
from tileport_skill.timing.campaign import Campaign, start
from tileport_skill.timing.judging import rows_needed
from tileport_skill.timing.plan import Budget, make_plan
from tileport_skill.timing.raw import RawFolder

STANDIN = Path(__file__).parent / "standin"
CHECKOUT = STANDIN / "checkout"
RECORDED = Path(__file__).parents[2] / "data" / "timing" / "2026-11-30-h200"

Rehearse = Callable[..., RawFolder]


@pytest.fixture
def rehearse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rehearse:
    """`rehearse(heights, processes, ratio=…, fault=…)`: the raw folder of a whole campaign."""

    def run(heights: tuple[int, ...], processes: int, ratio: float = 1.0, fault: str = "") -> RawFolder:
        monkeypatch.setenv("PYTHONPATH", str(STANDIN / "device"))
        monkeypatch.setenv("STANDIN_RATIO", str(ratio))
        monkeypatch.setenv("STANDIN_FAULT", fault)
        checkout, raw = open_checkout(CHECKOUT), RawFolder(tmp_path / "raw")
        plan = make_plan(checkout, ["silu_and_mul"], budget=Budget(processes=processes, most=processes))
        plan["operators"]["silu_and_mul"]["rows"] = [
            {"id": f"{height}x512", "arguments": {"shape": [height, 512], "dtype": "float32"}} for height in heights
        ]
        start(raw, plan)
        library = tmp_path / "libcutile_kernels.so"
        library.touch()
        assert Campaign(checkout, library, raw, 500.0, say=lambda _text: None).run(rows_needed)
        return raw

    return run
