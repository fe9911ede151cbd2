"""fmha_decode of one query against a cache, heads grouped."""

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


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)


class Test_FlashDecode(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("length", [512, 1000])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, length: int, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        q = torch.randn((2, 8, 1, 64), device="cuda", dtype=dtype)
        k = torch.randn((2, 2, length, 64), device="cuda", dtype=dtype)
        v = torch.randn((2, 2, length, 64), device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda q, k, v: tilegym.ops.fmha_decode(q, k, v, 0.125),
            lambda q, k, v: reference(q, k, v, False),
            {"q": q, "k": k, "v": v},
            rtol=2e-2,
            atol=2e-2,
        )
