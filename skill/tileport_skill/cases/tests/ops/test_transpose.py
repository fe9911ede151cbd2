"""transpose of a matrix."""

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


class Test_Transpose(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(128, 256), (100, 36)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, int], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        x = torch.randn(shape, device="cuda", dtype=dtype)
        self.assertCorrectness(tilegym.ops.transpose, lambda inp: inp.t().contiguous(), {"inp": x}, rtol=0.0, atol=0.0)
