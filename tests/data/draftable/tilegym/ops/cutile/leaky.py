"""A leaky rectifier over arrays of any shape, forward and backward."""

import math

import cuda.tile as ct
import torch

from tilegym.backend import register_impl

SLOPE = 0.25


@ct.kernel
def _leaky_kernel(x, y, BLOCK: ct.Constant[int]):
    """y = x where x is positive, else a quarter of it."""
    offsets = ct.bid(0) * BLOCK + ct.arange(BLOCK, dtype=ct.int32)
    tile = ct.gather(x, offsets).astype(ct.float32)
    ct.scatter(y, offsets, ct.astype(ct.where(tile > 0, tile, tile * SLOPE), y.dtype))


@ct.kernel(occupancy=4)
def _leaky_backward_kernel(x, dy, dx, BLOCK: ct.Constant[int]):
    offsets = ct.bid(0) * BLOCK + ct.arange(BLOCK, dtype=ct.int32)
    gradient = ct.gather(dy, offsets).astype(ct.float32)
    kept = ct.where(ct.gather(x, offsets).astype(ct.float32) > 0, gradient, gradient * SLOPE)
    ct.scatter(dx, offsets, ct.astype(kept, dx.dtype))


class _Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y, block = torch.empty_like(x), 256
        ctx.save_for_backward(x)
        grid = (math.ceil(x.numel() / block), 1, 1)
        ct.launch(torch.cuda.current_stream(), grid, _leaky_kernel, (x.view(-1), y.view(-1), block))
        return y

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        dy, dx, block = dy.contiguous(), torch.empty_like(x), 256
        grid = (math.ceil(x.numel() / block), 1, 1)
        arrays = (x.view(-1), dy.view(-1), dx.view(-1))
        ct.launch(torch.cuda.current_stream(), grid, _leaky_backward_kernel, (*arrays, block))
        return dx


@register_impl("leaky", backend="cutile")
def leaky(x):
    return _Leaky.apply(x)
