"""The product of two matrices."""

import cuda.tile as ct
import torch

from tilegym.backend import register_impl

PAD_ZERO = ct.PaddingMode.ZERO


@ct.kernel
def _product_kernel(a, b, c, TILE: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    dtype = ct.tfloat32 if a.dtype == ct.float32 else a.dtype
    total = ct.full((TILE, TILE), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TILE, TILE))):
        left = ct.load(a, index=(row, k), shape=(TILE, TILE), padding_mode=PAD_ZERO).astype(dtype)
        right = ct.load(b, index=(k, column), shape=(TILE, TILE), padding_mode=PAD_ZERO).astype(dtype)
        total = ct.mma(left, right, total)
    ct.store(c, index=(row, column), tile=total.astype(c.dtype))


@register_impl("product", backend="cutile")
def product(a, b):
    tile = 32 if a.shape[0] < 128 else 64
    c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
    grid = (-(-c.shape[0] // tile), -(-c.shape[1] // tile))
    ct.launch(torch.cuda.current_stream(), grid, _product_kernel, (a, b, c, tile))
    return c
