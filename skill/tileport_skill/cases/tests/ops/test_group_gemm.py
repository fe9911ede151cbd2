"""group_gemm: a list of products of different heights."""

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


class Test_GroupGemm(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        left = [torch.randn((m, 128), device="cuda", dtype=dtype) for m in (64, 200)]
        right = [torch.randn((128, 256), device="cuda", dtype=dtype) for _ in left]
        self.assertCorrectness(
            lambda: torch.cat(list(tilegym.ops.group_gemm(left, right))),
            lambda: torch.cat([a @ b for a, b in zip(left, right, strict=True)]),
            {},
            rtol=2e-2,
            atol=2e-1,
        )
