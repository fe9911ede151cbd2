"""One test for each way to misbehave."""

import pytest
import tilegym
import torch


@pytest.mark.parametrize("how", ["thread", "huge", "missing", "refused", "nothing"])
def test_op(how):
    tilegym.ops.hostile_op(torch.randn((64,), device="cuda", dtype=torch.float16), how)


def test_patched_torch(monkeypatch):
    monkeypatch.setattr(torch, "empty_like", lambda x: x.new_empty(x.shape))
    tilegym.ops.hostile_op(torch.randn((64,), device="cuda"), "thread")
