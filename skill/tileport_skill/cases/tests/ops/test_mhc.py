"""mhc: its three operators run and stay finite."""

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


class Test_Mhc(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, backend: str) -> None:
        set_backend(backend)
        n, batch, channels = 4, 64, 256
        x = torch.randn((batch, n * channels), device="cuda", dtype=torch.bfloat16)
        w = torch.randn((n * channels, n * n + 2 * n), device="cuda", dtype=torch.bfloat16) / 32
        bias = torch.zeros((n * n + 2 * n,), device="cuda", dtype=torch.float32)
        self.assertRuns(tilegym.ops.mhc_gemm_rms_scale, x, w, n, 0.1, 0.1, 0.1, bias)
        y = torch.rand((batch, n * n + 2 * n), device="cuda", dtype=torch.float32)
        self.assertRuns(tilegym.ops.mhc_sinkhorn, y, n)
        out = torch.randn((batch, channels), device="cuda", dtype=torch.bfloat16)
        self.assertRuns(tilegym.ops.mhc_apply_residual, x, out, y, n)
