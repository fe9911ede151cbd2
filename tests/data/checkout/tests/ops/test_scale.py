"""The scaling operator in TileGym's form of a test."""

import pytest
import tilegym
import torch


@pytest.mark.parametrize("size", [(1024,), (4, 250)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("backend", ["cutile", "triton", "pytorch"])
def test_op(size, dtype, backend):
    tilegym.set_backend(backend)
    x = torch.randn(size, device="cuda", dtype=dtype).flatten()
    assert torch.allclose(tilegym.ops.scale_by(x, 2.0), x * 2)


def test_op_backward():
    tilegym.set_backend("cutile")
    x = torch.randn((512,), device="cuda", requires_grad=True)
    tilegym.ops.scale_by(x, 2.0).sum().backward()


def test_slice_of_an_array():
    tilegym.set_backend("cutile")
    x = torch.randn((1026,), device="cuda", dtype=torch.float32)[1:1025]
    tilegym.ops.scale_by(x, 0.5)


@pytest.mark.skip(reason="not on this device")
def test_skipped():
    raise AssertionError
