"""splitk_reduce of equal parts: the result is their mean."""

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


class Test_SplitkReduce(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("splits", [2, 4])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype: torch.dtype, splits: int, backend: str) -> None:
        set_backend(backend)
        parts = torch.randn((2, 8, splits, 64), device="cuda", dtype=dtype)
        lse = torch.zeros((2, 8, splits), device="cuda", dtype=torch.float32)

        def reduce(parts: torch.Tensor, lse: torch.Tensor) -> torch.Tensor:
            out = torch.empty((2, 8, 64), device="cuda", dtype=dtype)
            tilegym.ops.splitk_reduce(parts, lse, out, splits * 128)
            return out

        self.assertCorrectness(
            reduce, lambda parts, lse: parts.mean(2), {"parts": parts, "lse": lse}, rtol=2e-2, atol=2e-2
        )
