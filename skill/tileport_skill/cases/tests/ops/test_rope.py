"""rope on queries and keys, grouped heads."""

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


class Test_Rope(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("heads", [(8, 8), (8, 2)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, heads: tuple[int, int], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        q = torch.randn((2, heads[0], 128, 64), device="cuda", dtype=dtype)
        k = torch.randn((2, heads[1], 128, 64), device="cuda", dtype=dtype)
        angles = torch.randn((1, 128, 32), device="cuda", dtype=torch.float32).repeat(1, 1, 2)
        self.assertRuns(tilegym.ops.apply_rope_base, q, k, angles.cos().to(dtype), angles.sin().to(dtype))
