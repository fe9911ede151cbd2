"""gemma_attention_decode with window and soft cap: it runs and stays finite."""

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


class Test_GemmaAttentionDecode(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("options", [{}, {"window_size": 64}, {"soft_cap": 50.0}])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, options: dict[str, float], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        q = torch.randn((2, 8, 1, 128), device="cuda", dtype=dtype)
        k, v = (torch.randn((2, 4, 512, 128), device="cuda", dtype=dtype) for _ in range(2))
        self.assertRuns(tilegym.ops.gemma_attention_decode, q, k, v, **options)
