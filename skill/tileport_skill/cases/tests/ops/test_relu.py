"""relu, on rows that fill no tile too; the reference has no gradient."""

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


class Test_Relu(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("shape", [(1, 256), (6, 1000), (4, 33, 64)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, shape: tuple[int, ...], dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        x = torch.randn(shape, device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda x: activation.relu(x), lambda x: torch.nn.functional.relu(x), {"x": x}, rtol=2e-2, atol=2e-2
        )
