"""Functions that time and compare are watched, whatever they are replaced by."""

from __future__ import annotations

import time

import pytest
import torch

from tileport_skill.timing.inside import blocks, integrity


def test_nothing_has_changed_where_nothing_was_replaced() -> None:
    assert integrity.snapshot().changed() == ()


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        (torch.cuda, "synchronize", "torch.cuda.synchronize"),
        (torch.cuda.Event, "elapsed_time", "torch.cuda.Event.elapsed_time"),
        (torch.Tensor, "clone", "torch.Tensor.clone"),
        (time, "perf_counter_ns", "time.perf_counter_ns"),
        (blocks.Runner, "measure", "tileport_skill.timing.inside.blocks.Runner.measure"),
    ],
)
def test_a_replaced_function_is_named(owner: object, name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = integrity.snapshot()
    monkeypatch.setattr(owner, name, lambda *_: None)
    assert before.changed() == (said,)
