"""layer_norm_legacy and its persistent form."""

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


class Test_LayerNormLegacy(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(6, 256), (3, 1000)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, int], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        x = torch.randn(shape, device="cuda", dtype=dtype)
        weight = torch.randn(shape[-1:], device="cuda", dtype=dtype)
        bias = torch.randn(shape[-1:], device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda x, weight, bias: tilegym.ops.layer_norm_legacy(x, shape[-1:], weight, bias, 1e-5),
            lambda x, weight, bias: torch.nn.functional.layer_norm(x, shape[-1:], weight, bias, 1e-5),
            {"x": x, "weight": weight, "bias": bias},
            rtol=2e-2,
            atol=2e-2,
        )

    @pytest.mark.parametrize("shape", [(64, 256)])
    @pytest.mark.parametrize("dtype", [torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op_persistent(self, shape: tuple[int, int], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        x = torch.randn(shape, device="cuda", dtype=dtype)
        weight = torch.randn(shape[-1:], device="cuda", dtype=dtype)
        bias = torch.randn(shape[-1:], device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda x, weight, bias: tilegym.ops.persistent_layer_norm(x, shape[-1:], weight, bias, 1e-5)[0],
            lambda x, weight, bias: torch.nn.functional.layer_norm(x, shape[-1:], weight, bias, 1e-5),
            {"x": x, "weight": weight, "bias": bias},
            rtol=2e-2,
            atol=2e-2,
        )
