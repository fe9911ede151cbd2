"""mla_decoding_split_kv: it runs and stays finite."""

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


class Test_MlaDecodingSplitKv(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        q = torch.randn((2, 16, 512), device="cuda", dtype=dtype)
        qpe = torch.randn((2, 16, 64), device="cuda", dtype=dtype)
        kv = torch.randn((2, 1024, 512), device="cuda", dtype=dtype)
        kpe = torch.randn((2, 1024, 64), device="cuda", dtype=dtype)
        self.assertRuns(tilegym.ops.mla_decoding_split_kv, q, qpe, kv, kpe, 0.04)
