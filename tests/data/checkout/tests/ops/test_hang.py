"""A test that does not end."""

import tilegym
import torch


def test_op():
    tilegym.ops.hang_op(torch.randn((64,), device="cuda"))
