"""Sizes that no tile divides, and a matrix of one row."""

import pytest
import tilegym
import torch
from tilegym.backend import set_backend

_backends = ["cutile"]


@pytest.mark.parametrize("size", [(64, 64, 64), (33, 127, 65), (1, 40, 8), (256, 128, 64)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("backend", _backends)
def test_op(size, dtype, backend):
    set_backend(backend)
    m, n, k = size
    a = torch.randn((m, k), device="cuda", dtype=dtype)
    tilegym.ops.product(a, torch.randn((k, n), device="cuda", dtype=dtype))
