"""What stands in for both sides' tuners between rows."""

from __future__ import annotations

import gc
import sys
import types
import weakref

import pytest

from tileport_skill.timing.inside.tuning import Tuner


class Kernel:
    pass


def test_a_winner_is_forgotten_between_rows_and_its_kernel_stays_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUPTI names a kernel by its address: `_attention_sink_kernel` was said to run in a row of matmul."""
    kernel = Kernel()
    module = types.ModuleType("tilegym.ops.cutile.example")
    cache = {("a", 1): ("a configuration", kernel)}
    module._example_tune_cache = cache  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    alive = weakref.ref(kernel)
    tuner = Tuner(None, 5.0)
    del kernel
    tuner.forget()
    gc.collect()
    assert cache == {}
    assert alive() is not None
