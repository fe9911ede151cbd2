"""Rows that fill their tile, rows that do not, strided rows, a row of one."""

import pytest
import tilegym
import torch
from tilegym.backend import set_backend


class Test_Centred:
    _backends = ["cutile"]  # noqa: RUF012

    @pytest.mark.parametrize("shape", [(8, 64), (3, 100), (5, 1)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape, dtype, backend):
        set_backend(backend)
        tilegym.ops.centred(torch.randn(shape, device="cuda", dtype=dtype))

    @pytest.mark.parametrize("backend", _backends)
    def test_strided(self, backend):
        set_backend(backend)
        tilegym.ops.centred(torch.randn((8, 200), device="cuda")[:, :100], 0.5)
