"""fmha: causal and not, grouped heads, with its gradients."""

from __future__ import annotations

from typing import ClassVar

import pytest
import tilegym
import torch
from tilegym.backend import is_backend_available, set_backend
from tilegym.ops.cutile.attention import tile_fmha_with_backward

from tests import common

_backends = ["cutile"]
if is_backend_available("cutile-rs"):
    _backends = _backends + ["cutile-rs"]


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)


class Test_Attention(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("heads", [(4, 4), (8, 2)])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("is_causal", [True, False])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, heads: tuple[int, int], dtype: torch.dtype, is_causal: bool, backend: str) -> None:
        set_backend(backend)
        q = torch.randn((2, heads[0], 256, 64), device="cuda", dtype=dtype)
        k = torch.randn((2, heads[1], 256, 64), device="cuda", dtype=dtype)
        v = torch.randn((2, heads[1], 256, 64), device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda q, k, v: tilegym.ops.fmha(q, k, v, is_causal=is_causal),
            lambda q, k, v: reference(q, k, v, is_causal),
            {"q": q, "k": k, "v": v},
            rtol=2e-2,
            atol=2e-2,
        )

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", ["cutile"])
    def test_op_backward(self, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        q, k, v = (torch.randn((1, 2, 128, 64), device="cuda", dtype=dtype, requires_grad=True) for _ in range(3))
        self.assertCorrectness(
            lambda q, k, v: tile_fmha_with_backward(q, k, v, is_causal=True),  # TileGym has no dispatched name for it
            lambda q, k, v: reference(q, k, v, True),
            {"q": q, "k": k, "v": v},
            gradient=torch.randn((1, 2, 128, 64), device="cuda", dtype=dtype),
            rtol=5e-2,
            atol=5e-2,
        )
