"""An operator whose host reads values."""

import tilegym
import torch


def test_op():
    lengths = torch.tensor([3, 5, 4], device="cuda", dtype=torch.int32)
    out = tilegym.ops.sum_rows(torch.randn((8, 64), device="cuda"), lengths)
    assert out.shape == (5,)


def test_values_filled_in_one_by_one():
    lengths = torch.empty((3,), device="cuda", dtype=torch.int32)
    for row in range(3):
        lengths[row] = 2 * row + 1
    x = torch.randn((8, 64), device="cuda")
    x[lengths[1] :, :] = 0
    assert tilegym.ops.sum_rows(x, lengths).shape == (5,)


def test_a_gradient_begins_with_ones():
    loss = (torch.randn((8, 64), device="cuda", requires_grad=True) ** 2).sum()
    read = []
    loss.register_hook(lambda gradient: read.append(gradient.item()))
    loss.backward()
    assert read == [1.0]


def test_values_of_floats_do_not_exist():
    lengths = torch.rand((3,), device="cuda") * 5
    tilegym.ops.sum_rows(torch.randn((8, 64), device="cuda"), lengths)
