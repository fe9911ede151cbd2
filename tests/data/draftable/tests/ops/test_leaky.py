"""Shapes that fill no block, one element, a misaligned view, gradients."""

import pytest
import tilegym
import torch
from tilegym.backend import set_backend

_backends = ["cutile"]


@pytest.mark.parametrize("shape", [(1024,), (7, 33), (1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("backend", _backends)
def test_op(shape, dtype, backend):
    set_backend(backend)
    x = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
    tilegym.ops.leaky(x).sum().backward()


@pytest.mark.parametrize("backend", _backends)
def test_misaligned(backend):
    set_backend(backend)
    tilegym.ops.leaky(torch.randn((1026,), device="cuda")[1:1025])
