"""An operator whose host reads values."""

import tilegym
import torch


def test_op():
    lengths = torch.tensor([3, 5, 4], device="cuda", dtype=torch.int32)
    out = tilegym.ops.sum_rows(torch.randn((8, 64), device="cuda"), lengths)
    assert out.shape == (5,)


def test_values_of_floats_do_not_exist():
    lengths = torch.rand((3,), device="cuda") * 5
    tilegym.ops.sum_rows(torch.randn((8, 64), device="cuda"), lengths)
