"""sparse_mla over chosen keys: it runs and stays finite."""

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


class Test_SparseMla(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("dtype", [torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        q = torch.randn((1, 4, 64, 128), device="cuda", dtype=dtype)
        qpe = torch.randn((1, 4, 64, 64), device="cuda", dtype=dtype)
        k, v = (torch.randn((1, 4, 256, 128), device="cuda", dtype=dtype) for _ in range(2))
        kpe = torch.randn((1, 1, 256, 64), device="cuda", dtype=dtype)
        indices = torch.randint(0, 256, (1, 64, 4, 64), device="cuda", dtype=torch.int32)
        self.assertRuns(tilegym.ops.sparse_mla, q, k, v, indices, qpe, kpe)
