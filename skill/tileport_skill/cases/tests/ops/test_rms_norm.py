"""rms_norm by each of its kernels, with its gradients."""

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


class Test_RmsNorm(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(6, 256), (3, 1000), (4, 4096)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("mode", [None, "static_persistent", "multi_wave_reload", "multi_wave_cached"])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, int], dtype: torch.dtype, mode: str | None, backend: str) -> None:
        set_backend(backend)
        x = torch.randn(shape, device="cuda", dtype=dtype)
        weight = torch.randn(shape[-1:], device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda x, weight: tilegym.ops.rms_norm(x, shape[-1:], weight, 1e-5, mode=mode),
            lambda x, weight: torch.nn.functional.rms_norm(x, shape[-1:], weight, 1e-5),
            {"x": x, "weight": weight},
            rtol=2e-2,
            atol=2e-2,
        )

    @pytest.mark.parametrize("shape", [(6, 256)])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op_backward(self, shape: tuple[int, int], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        x = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
        weight = torch.randn(shape[-1:], device="cuda", dtype=dtype, requires_grad=True)
        self.assertCorrectness(
            lambda x, weight: tilegym.ops.rms_norm(x, shape[-1:], weight, 1e-5),
            lambda x, weight: torch.nn.functional.rms_norm(x, shape[-1:], weight, 1e-5),
            {"x": x, "weight": weight},
            gradient=torch.randn(shape, device="cuda", dtype=dtype),
            rtol=5e-2,
            atol=5e-2,
        )
