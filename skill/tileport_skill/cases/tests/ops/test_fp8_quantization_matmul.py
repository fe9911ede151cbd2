"""w8a8_block_fp8_matmul with unit scales."""

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


class Test_Fp8QuantizationMatmul(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, backend: str) -> None:
        set_backend(backend)
        a = torch.randn((128, 256), device="cuda").to(torch.float8_e4m3fn)
        b = torch.randn((256, 256), device="cuda").to(torch.float8_e4m3fn)
        a_scale = torch.ones((128, 2), device="cuda")
        b_scale = torch.ones((2, 2), device="cuda")
        self.assertRuns(
            tilegym.ops.w8a8_block_fp8_matmul, a, b, a_scale, b_scale, [128, 128], output_dtype=torch.float16
        )
