"""fmha_variant in both layouts, without bias, dropout or window."""

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


class Test_AttentionVariant(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("layout", ["bnsd", "nsbd"])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, dtype: torch.dtype, layout: str, backend: str) -> None:
        set_backend(backend)
        q, k, v = (torch.randn((2, 4, 256, 64), device="cuda", dtype=dtype) for _ in range(3))
        order = (0, 1, 2, 3) if layout == "bnsd" else (1, 2, 0, 3)
        back = (0, 1, 2, 3) if layout == "bnsd" else (2, 0, 1, 3)
        self.assertCorrectness(
            lambda q, k, v: tilegym.ops.fmha_variant(
                *(x.permute(order).contiguous() for x in (q, k, v)), is_causal=True, layout=layout
            ).permute(back),
            lambda q, k, v: reference(q, k, v, True),
            {"q": q, "k": k, "v": v},
            rtol=2e-2,
            atol=2e-2,
        )
