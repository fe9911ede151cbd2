"""In place, on whole arrays and on a view."""

import pytest
import tilegym
import torch
from tilegym.backend import set_backend

_backends = ["cutile"]


@pytest.mark.parametrize("rows", [1, 6])
@pytest.mark.parametrize("backend", _backends)
def test_op(rows, backend):
    set_backend(backend)
    tilegym.ops.swapped(torch.randn((rows, 64), device="cuda"))


@pytest.mark.parametrize("backend", _backends)
def test_of_a_view(backend):
    set_backend(backend)
    tilegym.ops.swapped(torch.randn((8, 64), device="cuda")[2:])
