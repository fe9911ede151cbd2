"""A test that does not end."""

import tilegym
import torch


def test_op():
    tilegym.ops.hang_op(torch.randn((64,), device="cuda"))


def test_friendly():
    tilegym.ops.hang_on_strides(torch.randn((64,), device="cuda"))
