"""swa_attention with a window: it runs and stays finite."""

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


class Test_SwaAttention(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("dtype", [torch.float16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        q, k, v = (torch.randn((2, 4, 256, 64), device="cuda", dtype=dtype) for _ in range(3))
        self.assertRuns(tilegym.ops.swa_attention, q, k, v, 64)
