"""linear_gluact_linear with each gate."""

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


class Test_LinearGluactLinear(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("act_type", ["silu", "gelu"])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, act_type: str, dtype: torch.dtype, backend: str) -> None:
        set_backend(backend)
        act = getattr(torch.nn.functional, act_type)
        arguments = {
            "input": torch.randn((128, 256), device="cuda", dtype=dtype) / 16,
            "weight_act": torch.randn((512, 256), device="cuda", dtype=dtype) / 16,
            "weight_noact": torch.randn((512, 256), device="cuda", dtype=dtype) / 16,
            "weight2": torch.randn((128, 512), device="cuda", dtype=dtype) / 16,
        }
        self.assertCorrectness(
            lambda **arguments: tilegym.ops.linear_gluact_linear(**arguments, act_type=act_type),
            lambda input, weight_act, weight_noact, weight2: (
                (act(input @ weight_act.t()) * (input @ weight_noact.t())) @ weight2.t()
            ),
            arguments,
            rtol=5e-2,
            atol=5e-2,
        )
