"""The fused mixture of experts: it runs and stays finite."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from tilegym.backend import is_backend_available, set_backend
from tilegym.ops.moe_interface import fused_moe

from tests import common

_backends = ["cutile"]
if is_backend_available("cutile-rs"):
    _backends = _backends + ["cutile-rs"]


class Test_Moe(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        hidden = torch.randn((64, 256), device="cuda", dtype=dtype) / 16
        w1 = torch.randn((8, 512, 256), device="cuda", dtype=dtype) / 16
        w2 = torch.randn((8, 256, 256), device="cuda", dtype=dtype) / 16
        weights = torch.rand((64, 2), device="cuda", dtype=torch.float32)
        ids = torch.randint(0, 8, (64, 2), device="cuda", dtype=torch.int32)
        self.assertRuns(fused_moe, hidden, w1, w2, weights, ids)
