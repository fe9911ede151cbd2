"""dropout: what it keeps is scaled, what it drops is zero."""

from __future__ import annotations

from typing import ClassVar

import pytest
import tilegym
import torch
from tilegym.backend import is_backend_available, set_backend

from tests import common

_backends = ["cutile"]
if is_backend_available("cutile-rs"):
    _backends = _backends + ["cutile-rs"]


class Test_Dropout(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(1024,), (3, 1000)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("p", [0.25, 0.5])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, ...], dtype: torch.dtype, p: float, backend: str) -> None:
        set_backend(backend)
        x = torch.ones(shape, device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda x: torch.count_nonzero(tilegym.ops.dropout(x, seed=7, p=p) - 1 / (1 - p)) <= x.numel(),
            lambda x: torch.ones((), dtype=torch.bool, device="cuda"),
            {"x": x},
        )
