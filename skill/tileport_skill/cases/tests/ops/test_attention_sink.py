"""attention_sink with and without a sliding window: it runs and stays finite."""

from __future__ import annotations

from typing import ClassVar

import pytest
import tilegym
import torch
from tilegym.backend import is_backend_available, set_backend

from tests import common

_backends = ["cutile"]
if is_backend_available("cutile-rs"):
    _backends = _backends + ["cutile-rs"]


class Test_AttentionSink(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("sliding_window", [None, 128])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, sliding_window: int | None, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        query = torch.randn((2, 256, 2, 4, 64), device="cuda", dtype=dtype)
        key = torch.randn((2, 256, 2, 64), device="cuda", dtype=dtype)
        value = torch.randn((2, 256, 2, 64), device="cuda", dtype=dtype)
        sinks = torch.randn((8,), device="cuda", dtype=dtype)
        start = torch.zeros((1,), device="cuda", dtype=torch.int32)
        self.assertRuns(
            tilegym.ops.attention_sink, query, key, value, sinks, 0.125, sliding_window=sliding_window, start_q=start
        )
