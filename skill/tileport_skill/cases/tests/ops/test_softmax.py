"""softmax by each of its four kernels."""

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


class Test_Softmax(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(8, 256), (5, 1000), (4, 4096)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("options", [{}, {"use_tma": True}, {"use_chunked": True}, {"use_multi_wave": True}])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, int], dtype: torch.dtype, options: dict[str, bool], backend: str) -> None:
        set_backend(backend)
        x = torch.randn(shape, device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda x: tilegym.ops.softmax(x, **options), lambda x: torch.softmax(x, -1), {"x": x}, rtol=1e-2, atol=1e-2
        )
