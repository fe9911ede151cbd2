"""fused_linear_cross_entropy against the unfused."""

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


class Test_FusedLinearCrossEntropy(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        hidden = torch.randn((128, 256), device="cuda", dtype=dtype) / 16
        weight = torch.randn((1000, 256), device="cuda", dtype=dtype) / 16
        target = torch.randint(0, 1000, (128,), device="cuda")
        self.assertCorrectness(
            lambda hidden, weight: tilegym.ops.fused_linear_cross_entropy(hidden, weight, target),
            lambda hidden, weight: torch.nn.functional.cross_entropy((hidden @ weight.t()).float(), target).to(dtype),
            {"hidden": hidden, "weight": weight},
            rtol=2e-2,
            atol=2e-2,
        )
