"""chunk_gated_delta_rule over a sequence: it runs and stays finite."""

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


class Test_ChunkGatedDeltaRule(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("length", [128, 200])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, length: int, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        query, key, value = (torch.randn((1, length, 4, 64), device="cuda", dtype=dtype) for _ in range(3))
        g = -torch.rand((1, length, 4), device="cuda", dtype=torch.float32)
        beta = torch.rand((1, length, 4), device="cuda", dtype=dtype)
        self.assertRuns(
            tilegym.ops.chunk_gated_delta_rule,
            query,
            key,
            value,
            g,
            beta,
            output_final_state=True,
            use_qk_l2norm_in_kernel=True,
        )
