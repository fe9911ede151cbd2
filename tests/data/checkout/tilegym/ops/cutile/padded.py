"""An operator with work of its own around two kernels, one of which its arguments choose."""

import cuda.tile as ct
import torch

from tilegym.backend import register_impl


@ct.kernel
def _narrow_kernel(x, out):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (64,)))


@ct.kernel
def _wide_kernel(x, out, counts):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (64,)))


@register_impl("padded_copy", backend="cutile")
def padded_copy(x, wide=None):
    stream = torch.cuda.current_stream()
    half = x.to(torch.float16).view(-1)  # a cast, and a view that is no work
    out = torch.empty((2 * half.numel(),), device=x.device, dtype=half.dtype)
    grid = (ct.cdiv(half.numel(), 64),)
    if wide or (wide is None and x.shape[-1] > 128):
        counts = torch.zeros((4,), device=x.device, dtype=torch.int32)
        ct.launch(stream, grid, _wide_kernel, (half, out[: half.numel()], counts))
    else:
        ct.launch(stream, grid, _narrow_kernel, (half, out[: half.numel()]))
    return out.sum().to(torch.float32)
