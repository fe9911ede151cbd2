"""Kernels of our own: each shows some constructs, and two hold what has no translation."""

import cuda.tile as ct

SLOPE = 0.25
PAD_ZERO = ct.PaddingMode.ZERO


def _squared(x):
    # x times itself
    return x * x


@ct.kernel
def _leaky_kernel(x, y, BLOCK: ct.Constant[int], SQUARE: ct.Constant[bool]):
    """y = x where x is positive, else a quarter of it; squared on request."""
    block = ct.bid(0)
    offsets = block * BLOCK + ct.arange(BLOCK, dtype=ct.int32)
    tile = ct.gather(x, offsets).astype(ct.float32)

    # The slope is a global of the module.
    result = ct.where(tile > 0, tile, tile * SLOPE)
    if SQUARE:
        result = _squared(result)
    ct.scatter(y, offsets, ct.astype(result, y.dtype))


@ct.kernel
def _rows_kernel(x, w, y, factor: float, ROWS: ct.Constant[int], TILE: ct.Constant[int]):
    weight = ct.load(w, index=(0,), shape=(TILE,), padding_mode=PAD_ZERO).astype(ct.float32)
    for row in range(ct.bid(0), ROWS, ct.num_blocks(0)):
        tile = ct.load(x, index=(row, 0), shape=(1, TILE), padding_mode=PAD_ZERO).astype(ct.float32)
        mean = ct.sum(tile, axis=1, keepdims=True) / TILE
        # One multiplication and one addition, which the compiler makes one operation.
        scaled = (tile - mean) * factor + weight.reshape((1, TILE))
        ct.store(y, index=(row, 0), tile=scaled.astype(y.dtype))


@ct.kernel
def _halves_kernel(x, TILE: ct.Constant[int]):
    row = ct.bid(0)
    left = ct.load(x, index=(row, 0), shape=(1, TILE), padding_mode=PAD_ZERO)
    right = ct.load(x, index=(row, 1), shape=(1, TILE), padding_mode=PAD_ZERO)
    # In place: both halves are read before one is written.
    ct.store(x, index=(row, 0), tile=right)
    ct.store(x, index=(row, 1), tile=left)


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


@ct.kernel
def _running_kernel(x, y, TILE: ct.Constant[int]):
    tile = ct.load(x, index=(0,), shape=(TILE,))
    ct.store(y, index=(0,), tile=ct.cumsum(tile, axis=0))


@ct.kernel
def _half_tile_kernel(x, y, TILE: ct.Constant[int]):
    tile = ct.load(x, index=(0,), shape=(TILE // 2,))
    ct.store(y, index=(0,), tile=tile)


@ct.kernel
def _thinned_kernel(x, y, P: ct.Constant[float], BLOCK: ct.Constant[int]):
    offsets = ct.bid(0) * BLOCK + ct.arange(BLOCK, dtype=ct.int32)
    tile = ct.gather(x, offsets)
    scale = ct.zeros((BLOCK,), dtype=x.dtype)
    if P < 1.0:
        # Folded when the kernel is compiled.
        scale = ct.full((BLOCK,), 1.0 / (1.0 - P), dtype=x.dtype)
    ct.scatter(y, offsets, tile * scale)


@ct.kernel
def _below_kernel(x, y, first: int, CAUSAL: ct.Constant[int], TILE: ct.Constant[int]):
    total = ct.zeros((1, TILE), dtype=ct.float32)
    count = ct.num_tiles(x, axis=1, shape=(1, TILE))
    for j in range(0, count):
        tile = ct.load(x, index=(0, j), shape=(1, TILE), padding_mode=PAD_ZERO).astype(ct.float32)
        if CAUSAL and j >= first:
            tile = tile * 0.5
        total = total + tile
    ct.store(y, index=(0, 0), tile=total.astype(y.dtype))


@ct.kernel
def _box_kernel(x, y, TILE: ct.Constant[int]):
    lanes = ct.arange(TILE, dtype=ct.int32)
    # Three indices: two numbers and a tile.
    line = ct.gather(x, (ct.bid(0), 0, lanes))
    ct.scatter(y, (ct.bid(0), lanes, lanes), line, mask=lanes < 5)


@ct.kernel
def _square_kernel(x, y, TILE: ct.Constant[int]):
    rows = ct.arange(TILE, dtype=ct.int32)[:, None]
    columns = ct.arange(TILE, dtype=ct.int32)[None, :]
    ct.scatter(y, (columns, rows), ct.gather(x, (rows, columns)))


@ct.kernel
def _either_rank_kernel(x, y, TILE: ct.Constant[int]):
    if x.ndim == 1:
        tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    else:
        tile = ct.load(x, index=(ct.bid(0), 0), shape=(1, TILE)).reshape((TILE,))
    ct.store(y, index=(ct.bid(0),), tile=tile)


@ct.kernel
def _same_size_kernel(x, y, TILE: ct.Constant[int], OTHER: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    if TILE == OTHER:
        ct.store(y, index=(ct.bid(0),), tile=tile)
    else:
        ct.store(y, index=(ct.bid(0),), tile=ct.cumsum(tile, axis=0))


@ct.kernel
def _centred_kernel(x, means, y, KNOWN: ct.Constant[int], D: ct.Constant[int], ROWS: ct.Constant[int]):
    """Rows less their means, which are read where they are known, and else kept for another kernel."""
    tile = ct.astype(ct.load(x, index=(ct.bid(0), 0), shape=(ROWS, D)), ct.float32)
    if KNOWN:
        mean = ct.gather(means, ct.bid(0) * ROWS + ct.arange(ROWS, dtype=ct.int32))
    else:
        mean = ct.sum(tile, axis=1) / D
        ct.store(means, index=(ct.bid(0),), tile=mean)

    # One mean is subtracted from all elements as it is
    if ROWS != 1:
        mean = mean[:, None]
    centred = tile - mean
    ct.store(y, index=(ct.bid(0), 0), tile=ct.astype(centred, y.dtype))


@ct.kernel
def _padded_kernel(x, bias, y, length: int, BIAS: ct.Constant[int], TILE: ct.Constant[int]):
    """Zeros behind a length; a bias where there is one."""
    ct.static_assert(TILE > BIAS, f"{TILE} is not more than {BIAS}")
    row = ct.bid(0)
    if BIAS == 1:
        extra = ct.load(bias, index=(row,), shape=(TILE,))

    # Behind the length
    if row * TILE >= length:
        ct.store(y, index=(row,), tile=ct.zeros((TILE,), dtype=y.dtype))
        return

    first = ct.maximum(0, row - 1)
    tile = ct.load(x, index=(first,), shape=(TILE,))
    if BIAS == 1:
        tile = tile + extra
    ct.store(y, index=(row,), tile=tile)


@ct.kernel
def _flags_kernel(x, y, FLAGS: ct.Constant[int], TILE: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    if FLAGS & 1:
        tile = tile + tile
    ct.store(y, index=(ct.bid(0),), tile=tile)
