"""Calls that choose either kernel, by a flag or by size."""

import pytest
import tilegym
import torch


@pytest.mark.parametrize("columns", [32, 64, 128, 256, 512])
@pytest.mark.parametrize("wide", [None, True, False])
def test_op(columns, wide):
    x = torch.randn((3, columns), device="cuda") * 2  # the test's own work
    expected = x.sum()
    assert torch.allclose(tilegym.ops.padded_copy(x, wide), expected)
