"""Kernels for the route from Tile IR: some have no translation, others hang on their constants."""

import cuda.tile as ct


@ct.kernel
def _halved_kernel(x, y, TILE: ct.Constant[int], PARTS: ct.Constant[int]):
    half = ct.load(x, index=(ct.bid(0),), shape=(TILE // 2,), padding_mode=ct.PaddingMode.ZERO)
    scaled = half.astype(ct.float32) * PARTS
    ct.store(y, index=(ct.bid(0),), tile=scaled.astype(y.dtype))


@ct.kernel
def _branching_kernel(x, y, limit, TILE: ct.Constant[int]):
    row = ct.bid(0)
    tile = ct.load(x, index=(row,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    if row < limit:
        result = tile + tile
    else:
        square = tile * tile
        result = square + tile
    ct.store(y, index=(row,), tile=result)


@ct.kernel
def _halving_kernel(x, y, steps, TILE: ct.Constant[int]):
    left = steps
    total = ct.load(x, index=(0,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    while left > 0:
        total = total + total
        left = left // 2
    ct.store(y, index=(0,), tile=total)


@ct.kernel
def _leaving_kernel(x, y, limit, TILE: ct.Constant[int]):
    row = ct.bid(0)
    if row >= limit:
        ct.store(y, index=(row,), tile=ct.full((TILE,), 0, dtype=ct.float32))
        return
    ct.store(y, index=(row,), tile=ct.load(x, index=(row,), shape=(TILE,)))


@ct.kernel
def _filled_kernel(x, y, FILLING: ct.Constant[int], ROWS: ct.Constant[int], TILE: ct.Constant[int]):
    ids = ct.gather(x, ct.arange(ROWS, dtype=ct.int32), padding_value=FILLING)
    found = ct.astype(ids[:, None] == ct.arange(TILE, dtype=ct.int32)[None, :], ct.int32)
    before = ct.load(y, index=(0,), shape=(TILE,))
    ct.store(y, index=(0,), tile=before + ct.sum(found, axis=0))


@ct.kernel
def _shifted_kernel(x, y, TILE: ct.Constant[int]):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    shifted = ct.gather(x, lanes) << 3
    ct.scatter(y, lanes, shifted)
