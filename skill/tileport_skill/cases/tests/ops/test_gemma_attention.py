"""gemma_attention with window and soft cap: it runs and stays finite."""

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


class Test_GemmaAttention(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("options", [{}, {"window_size": 64}, {"soft_cap": 50.0}])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, options: dict[str, float], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        q = torch.randn((1, 8, 256, 128), device="cuda", dtype=dtype)
        k, v = (torch.randn((1, 4, 256, 128), device="cuda", dtype=dtype) for _ in range(2))
        self.assertRuns(tilegym.ops.gemma_attention, q, k, v, **options)
