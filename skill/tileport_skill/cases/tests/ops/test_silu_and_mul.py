"""silu_and_mul on shapes that take each of its paths: small and large rows, rows that fill no tile, gradients."""

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


def reference(input: torch.Tensor) -> torch.Tensor:
    gate, value = input.float().chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * value).to(input.dtype)


class Test_SiluAndMul(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(1, 512), (2, 3, 2048), (5, 16384), (3, 2002)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, ...], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        input = torch.randn(shape, device="cuda", dtype=dtype)
        self.assertCorrectness(tilegym.ops.silu_and_mul, reference, {"input": input}, rtol=1e-2, atol=1e-2)

    @pytest.mark.parametrize("shape", [(7, 1024)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op_backward(self, shape: tuple[int, ...], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        input = torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True)
        gradient = torch.randn((*shape[:-1], shape[-1] // 2), device="cuda", dtype=dtype)
        self.assertCorrectness(
            tilegym.ops.silu_and_mul, reference, {"input": input}, gradient=gradient, rtol=2e-2, atol=2e-2
        )
