"""swiglu with its gradients, behind the getter that TileGym dispatches."""

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


class Test_Swiglu(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(1, 4, 512), (2, 3, 1000)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, ...], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        a = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
        b = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
        gradient = torch.randn(shape, device="cuda", dtype=dtype)
        self.assertCorrectness(
            tilegym.ops.get_swiglu(),
            lambda a, b: torch.nn.functional.silu(a) * b,
            {"a": a, "b": b},
            gradient=gradient,
            rtol=2e-2,
            atol=2e-2,
        )
