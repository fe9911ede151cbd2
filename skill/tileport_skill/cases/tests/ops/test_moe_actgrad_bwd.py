"""moe_actgrad_bwd for a gated activation: it runs and stays finite."""

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


class Test_MoeActgradBwd(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("activation", ["swiglu"])
    @pytest.mark.parametrize("dtype", [torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, activation: str, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        tokens, experts, hidden, inner = 64, 4, 256, 128
        made = {"device": "cuda", "dtype": dtype}
        self.assertRuns(
            tilegym.ops.moe_actgrad_bwd,
            torch.randn((tokens, hidden), **made),
            torch.randn((tokens, 2 * inner), **made),
            torch.randn((experts, inner, hidden), **made),
            torch.empty((tokens, 2 * inner), **made),
            torch.zeros((tokens,), device="cuda", dtype=torch.float32),
            None,
            None,
            torch.empty((tokens, inner), **made),
            torch.rand((tokens,), device="cuda", dtype=torch.float32),
            torch.arange(0, tokens + 1, tokens // experts, device="cuda", dtype=torch.int32),
            torch.arange(tokens, device="cuda", dtype=torch.int32),
            torch.arange(tokens, device="cuda", dtype=torch.int32),
            activation,
            tokens // experts,
        )
