"""matmul, persistent and not, on sizes that fill no tile too."""

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


class Test_Matmul(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("size", [(256, 512, 128), (130, 72, 264)])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("persistent", [False, True])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, size: tuple[int, int, int], dtype: torch.dtype, persistent: bool, backend: str) -> None:
        set_backend(backend)
        m, n, k = size
        a = torch.randn((m, k), device="cuda", dtype=dtype)
        b = torch.randn((k, n), device="cuda", dtype=dtype)
        self.assertCorrectness(
            lambda a, b: tilegym.ops.matmul(a, b, static_persistent=persistent),
            lambda a, b: torch.matmul(a, b),
            {"a": a, "b": b},
            rtol=2e-2,
            atol=2e-1,
        )
