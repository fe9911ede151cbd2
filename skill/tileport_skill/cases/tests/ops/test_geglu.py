"""geglu, exact and by tanh, with its gradient."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from tilegym.backend import is_backend_available, set_backend
from tilegym.ops import activation

from tests import common

_backends = ["cutile"]
if is_backend_available("cutile-rs"):
    _backends = _backends + ["cutile-rs"]


def reference(x: torch.Tensor, approximate: str) -> torch.Tensor:
    value, gate = x.chunk(2, dim=-1)
    return value * torch.nn.functional.gelu(gate, approximate=approximate)


class Test_Geglu(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(6, 512), (3, 2002)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("approximate", ["none", "tanh"])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, int], dtype: torch.dtype, approximate: str, backend: str) -> None:
        set_backend(backend)
        x = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
        gradient = torch.randn((shape[0], shape[1] // 2), device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda x: activation.geglu(x, approximate=approximate),
            lambda x: reference(x, approximate),
            {"x": x},
            gradient=gradient,
            rtol=2e-2,
            atol=2e-2,
        )
