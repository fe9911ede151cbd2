"""One test for each way to misbehave."""

import pytest
import tilegym
import torch

HOW = ["thread", "huge", "missing", "refused", "nothing", "four bits", "namesakes", "host memory", "hang"]


@pytest.mark.parametrize("how", HOW)
def test_op(how):
    tilegym.ops.hostile_op(torch.randn((64,), device="cuda", dtype=torch.float16), how)


def test_patched_torch(monkeypatch):
    monkeypatch.setattr(torch, "empty_like", lambda x: x.new_empty(x.shape))
    tilegym.ops.hostile_op(torch.randn((64,), device="cuda"), "thread")


def test_patches_torch_for_good():
    torch.empty_like = torch.allclose = torch.cuda.is_available = None


def test_after_torch_was_patched():
    assert torch.cuda.is_available()
    tilegym.ops.hostile_op(torch.randn((64,), device="cuda"), "thread")
