"""mamba2, forward and backward over chunks: it runs and stays finite."""

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


class Test_Mamba2(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("chunk_size", [64, 128])  # each has its own kernel for the output
    @pytest.mark.parametrize("dtype", [torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, chunk_size: int, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        x = torch.randn((1, 128, 4, 64), device="cuda", dtype=dtype)
        a = -torch.rand((4,), device="cuda", dtype=torch.float32)
        b, c = (torch.randn((1, 128, 1, 64), device="cuda", dtype=dtype) for _ in range(2))
        d = torch.randn((4,), device="cuda", dtype=torch.float32)
        dt = torch.rand((1, 128, 4), device="cuda", dtype=torch.float32)
        state = torch.zeros((1, 4, 64, 64), device="cuda", dtype=torch.float32)
        self.assertRuns(tilegym.ops.mamba2_chunk_forward, x, a, b, c, d, dt, state, chunk_size)
        dout = torch.randn_like(x)
        final = torch.zeros_like(state)
        self.assertRuns(tilegym.ops.mamba2_chunk_backward, x, a, b, c, d, dt, state, dout, final, chunk_size)
