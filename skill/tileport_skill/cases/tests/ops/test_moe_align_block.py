"""moe_align_block_size: blocks of tokens by expert."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from tilegym.backend import is_backend_available, set_backend
from tilegym.ops.moe_interface import moe_align_block_size

from tests import common

_backends = ["cutile"]
if is_backend_available("cutile-rs"):
    _backends = _backends + ["cutile-rs"]


class Test_MoeAlignBlock(common.PyTestCase):
    _backends: ClassVar[list[str]] = _backends

    @pytest.mark.parametrize("block_size", [16, 64])
    @pytest.mark.parametrize("backend", _backends)
    def test_op(self, block_size: int, backend: str) -> None:
        set_backend(backend)
        ids = torch.randint(0, 8, (64, 2), device="cuda", dtype=torch.int32)
        self.assertRuns(moe_align_block_size, ids, block_size, 8)
