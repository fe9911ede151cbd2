# ruff: noqa: E741 - kernels and patterns are read more easily on one line
"""Kernels of our own for the mutants, small enough to run often, each with launches made by hand."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from dataclasses import dataclass

import cuda.tile as ct
import numpy as np
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    ConstantConstraint,
    KernelSignature,
    ScalarConstraint,
    export_kernel,
)

from tileport_skill.tileir.launch import Buffer, Launch


@ct.kernel
def gemm(A, B, C):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((16, 16), ct.float32)
    for k in range(ct.num_tiles(A, axis=1, shape=(16, 32))):
        a = ct.load(A, (i, k), (16, 32), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(B, (k, j), (32, 16), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(C, (i, j), ct.astype(acc, ct.float16))


@ct.kernel
def softmax(X, Y):
    row = ct.bid(0)
    x = ct.astype(ct.load(X, (row, 0), (1, 64), padding_mode=ct.PaddingMode.NEG_INF), ct.float32)
    x = x - ct.max(x, axis=1, keepdims=True)
    e = ct.exp(x)
    ct.store(Y, (row, 0), ct.astype(e / ct.sum(e, axis=1, keepdims=True), ct.float16))


@ct.kernel
def gated(X, Y, N: ct.Constant[int]):
    row = ct.bid(0)
    at = ct.bid(1) * 32 + ct.arange(32, dtype=ct.int32)
    a = ct.gather(X, (row, at), check_bounds=True)
    b = ct.gather(X, (row, at + N), check_bounds=True)
    a = ct.astype(a, ct.float32)
    ct.scatter(
        Y,
        (row, at),
        ct.astype(a / (1.0 + ct.exp(-a)) * ct.astype(b, ct.float32), ct.float16),
        check_bounds=True,
    )


@ct.kernel
def rms_norm(X, W, Y, eps: float):
    row = ct.bid(0)
    total = ct.zeros((1, 32), ct.float32)
    tiles = ct.num_tiles(X, axis=1, shape=(1, 32))
    for j in range(tiles):
        x = ct.astype(ct.load(X, (row, j), (1, 32), padding_mode=ct.PaddingMode.ZERO), ct.float32)
        total = total + x * x
    scale = ct.rsqrt(ct.sum(total, axis=1, keepdims=True) / X.shape[1] + eps)
    for j in range(tiles):
        x = ct.astype(ct.load(X, (row, j), (1, 32), padding_mode=ct.PaddingMode.ZERO), ct.float32)
        w = ct.astype(ct.load(W, (j,), (32,), padding_mode=ct.PaddingMode.ZERO), ct.float32)
        ct.store(Y, (row, j), ct.astype(x * scale * w, ct.float16))


@ct.kernel
def attention(Q, K, V, O, scale: float):
    i = ct.bid(0)
    q = ct.load(Q, (i, 0), (16, 16), padding_mode=ct.PaddingMode.ZERO)
    m = ct.full((16, 1), -1e30, ct.float32)
    total = ct.zeros((16, 1), ct.float32)
    acc = ct.zeros((16, 16), ct.float32)
    for j in range(i + 1):
        k = ct.load(K, (0, j), (16, 16), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)
        s = ct.mma(q, k, ct.zeros((16, 16), ct.float32)) * scale
        rows = i * 16 + ct.arange(16, dtype=ct.int32)[:, None]
        columns = j * 16 + ct.arange(16, dtype=ct.int32)[None, :]
        s = ct.where(rows >= columns, s, -1e30)
        new = ct.maximum(m, ct.max(s, axis=1, keepdims=True))
        p = ct.exp2(s - new)
        alpha = ct.exp2(m - new)
        total = total * alpha + ct.sum(p, axis=1, keepdims=True)
        v = ct.load(V, (j, 0), (16, 16), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ct.astype(p, ct.float16), v, acc * alpha)
        m = new
    ct.store(O, (i, 0), ct.astype(acc / total, ct.float16))


@ct.kernel
def transpose(X, Y):
    i, j = ct.bid(0), ct.bid(1)
    x = ct.load(X, (i, j), (16, 16), padding_mode=ct.PaddingMode.ZERO)
    ct.store(Y, (j, i), ct.transpose(x) * 2.0)


@ct.kernel
def running_sum(X, Y):
    row = ct.bid(0)
    x = ct.load(X, (row, 0), (1, 64), padding_mode=ct.PaddingMode.ZERO)
    ct.store(Y, (row, 0), ct.cumsum(x, axis=1))


@ct.kernel
def embedding(I, T, Y):
    at = ct.bid(0)
    row = ct.load(I, (at,), (1,))
    columns = ct.arange(32, dtype=ct.int32)
    x = ct.gather(T, (ct.reshape(row, (1, 1)), columns[None, :]), check_bounds=True)
    ct.store(Y, (at, 0), ct.where(x > 0.0, x, x * 0.25))


@ct.kernel
def persistent(X, Y):
    tiles = ct.num_tiles(X, axis=0, shape=(16, 16))
    for i in range(ct.bid(0), tiles, ct.num_blocks(0)):
        x = ct.load(X, (i, 0), (16, 16), padding_mode=ct.PaddingMode.ZERO)
        low = ct.minimum(x, 1.5)
        ct.store(Y, (i, 0), ct.maximum(low, -1.5) - x)


@ct.kernel
def guarded(X, Y, limit: int):
    i = ct.bid(0)
    if i < limit:
        x = ct.load(X, (i,), (32,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(Y, (i,), x * x + x)
    else:
        ct.store(Y, (i,), ct.full((32,), -1.0, ct.float32))


@ct.kernel
def histogram(X, H):
    x = ct.load(X, (ct.bid(0),), (32,), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(H, (x % 8,), 1)


@ct.kernel
def layer_norm(X, W, B, Y, eps: float):
    row = ct.bid(0)
    x = ct.astype(ct.load(X, (row, 0), (1, 32), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    columns = ct.arange(32, dtype=ct.int32)[None, :]
    inside = columns < X.shape[1]
    mean = ct.sum(x, axis=1, keepdims=True) / X.shape[1]
    centred = ct.where(inside, x - mean, 0.0)
    variance = ct.sum(centred * centred, axis=1, keepdims=True) / X.shape[1]
    w = ct.load(W, (0,), (32,), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(B, (0,), (32,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(Y, (row, 0), centred * ct.rsqrt(variance + eps) * w + b)


@ct.kernel
def best(X, Y, I):
    row = ct.bid(0)
    x = ct.load(X, (row, 0), (1, 32), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(Y, (row,), ct.max(x, axis=1))
    ct.store(I, (row,), ct.argmax(x, axis=1))


@ct.kernel
def blend(A, B, M, Y, n: int):
    at = ct.bid(0) * 32 + ct.arange(32, dtype=ct.int32)
    a = ct.gather(A, at, check_bounds=True)
    b = ct.gather(B, n - 1 - at, check_bounds=True)
    m = ct.gather(M, at % 8, check_bounds=True)
    kept = ct.where((m > 2) & (at < n), a - b, ct.maximum(a, b))
    ct.scatter(Y, at, kept * 0.5, check_bounds=True)


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters and, for a random generator, the arrays and grid of a launch."""

    function: object
    parameters: tuple
    launch: Callable[[np.random.Generator], tuple[tuple[int, int, int], list]]


def array(dtype, ndim: int) -> ArrayConstraint:
    return ArrayConstraint(
        dtype, ndim, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
        may_alias_internally=False, stride_constant=[None] * (ndim - 1) + [1],
        stride_divisible_by=[8] * (ndim - 1) + [1], shape_divisible_by=1, base_addr_divisible_by=16,
    )  # fmt: skip


def floats(numbers: np.random.Generator, *shape: int, dtype=np.float16, grid: bool = True) -> np.ndarray:
    """Quarters, whose sums are exact, or full mantissas; the rows are padded to multiples of eight elements."""
    if grid:
        return (numbers.integers(-12, 13, shape) / 4).astype(dtype)
    return numbers.standard_normal(shape).astype(dtype)


f16_2, f16_1, f32_2, f32_1 = (array(t, n) for t in (ct.float16, ct.float32) for n in (2, 1))
i32_1 = array(ct.int32, 1)


def _gemm(n):
    m, k, c = n.integers(17, 40), 8 * n.integers(3, 9), 8 * n.integers(3, 5)
    return (-(-m // 16), -(-c // 16), 1), [floats(n, m, k), floats(n, k, c), floats(n, m, c)]


def _rows(n):
    rows, columns = n.integers(2, 5), 8 * n.integers(2, 9)
    return (rows, 1, 1), [floats(n, rows, columns, grid=False), floats(n, rows, columns)]


KERNELS: dict[str, Kernel] = {
    "gemm": Kernel(gemm, (f16_2, f16_2, f16_2), _gemm),
    "softmax": Kernel(softmax, (f16_2, f16_2), _rows),
    "gated": Kernel(
        gated, (f16_2, f16_2, ConstantConstraint(48)),
        lambda n: ((3, 2, 1), [floats(n, 3, 96, grid=False), floats(n, 3, 48)]),
    ),
    "rms_norm": Kernel(
        rms_norm, (f16_2, f16_1, f16_2, ScalarConstraint(ct.float32)),
        lambda n: ((2, 1, 1), [floats(n, 2, 72), floats(n, 72), floats(n, 2, 72), 0.5]),
    ),
    "attention": Kernel(
        attention, (f16_2, f16_2, f16_2, f16_2, ScalarConstraint(ct.float32)),
        lambda n: ((3, 1, 1), [*(floats(n, 40, 16) for _ in range(4)), 0.25]),
    ),
    "transpose": Kernel(
        transpose, (f32_2, f32_2),
        lambda n: ((2, 2, 1), [floats(n, 24, 32, dtype=np.float32, grid=False), floats(n, 32, 24, dtype=np.float32)]),
    ),
    "running_sum": Kernel(
        running_sum, (f32_2, f32_2),
        lambda n: ((3, 1, 1), [floats(n, 3, 56, dtype=np.float32), floats(n, 3, 56, dtype=np.float32)]),
    ),
    "embedding": Kernel(
        embedding, (i32_1, f32_2, f32_2),
        lambda n: ((6, 1, 1), [n.integers(0, 9, 6).astype(np.int32), floats(n, 9, 24, dtype=np.float32, grid=False),
                               floats(n, 6, 32, dtype=np.float32)]),
    ),
    "persistent": Kernel(
        persistent, (f32_2, f32_2),
        lambda n: ((3, 1, 1), [floats(n, 90, 16, dtype=np.float32), floats(n, 90, 16, dtype=np.float32)]),
    ),
    "guarded": Kernel(
        guarded, (f32_1, f32_1, ScalarConstraint(ct.int32)),
        lambda n: ((4, 1, 1), [floats(n, 120, dtype=np.float32, grid=False), floats(n, 120, dtype=np.float32), 2]),
    ),
    "layer_norm": Kernel(
        layer_norm, (f32_2, f32_1, f32_1, f32_2, ScalarConstraint(ct.float32)),
        lambda n: ((3, 1, 1), [floats(n, 3, 24, dtype=np.float32), floats(n, 24, dtype=np.float32),
                               floats(n, 24, dtype=np.float32), floats(n, 3, 24, dtype=np.float32), 0.5]),
    ),
    "best": Kernel(
        best, (f32_2, f32_1, i32_1),
        lambda n: ((4, 1, 1), [floats(n, 4, 24, dtype=np.float32, grid=False), np.zeros(4, np.float32),
                               np.zeros(4, np.int32)]),
    ),
    "blend": Kernel(
        blend, (f32_1, f32_1, i32_1, f32_1, ScalarConstraint(ct.int32)),
        lambda n: ((2, 1, 1), [floats(n, 48, dtype=np.float32, grid=False), floats(n, 48, dtype=np.float32, grid=False),
                               n.integers(0, 6, 8).astype(np.int32), floats(n, 48, dtype=np.float32), 48]),
    ),
    "histogram": Kernel(
        histogram, (i32_1, i32_1),
        lambda n: ((3, 1, 1), [n.integers(0, 40, 90).astype(np.int32), np.zeros(8, np.int32)]),
    ),
}  # fmt: skip


@functools.cache
def exported(name: str, arch: str = "sm_90") -> bytes:
    """The bytecode of one of the kernels, its entry called `entry`."""
    kernel = KERNELS[name]
    signature = KernelSignature(list(kernel.parameters), CallingConvention.cutile_python_v1(), symbol="entry")
    out = io.BytesIO()
    export_kernel(
        kernel.function,
        [signature],
        out,
        gpu_code=arch,
        output_format="tileir_bytecode",
        bytecode_version="13.3",
    )
    return out.getvalue()


def launches(name: str, count: int) -> list[Launch]:
    """Launches of a kernel, the same on every call: arrays as pointer, sizes and strides."""
    found = []
    for seed in range(count):
        grid, given = KERNELS[name].launch(np.random.default_rng(1000 + seed))
        arguments: list[Buffer | int | float] = []
        for place, value in enumerate(given):
            if isinstance(value, np.ndarray):
                strides = [s // value.itemsize for s in value.strides]
                arguments += [
                    Buffer(f"argument {place}", value.reshape(-1)),
                    *map(int, value.shape),
                    *strides,
                ]
            else:
                arguments.append(value)
        found.append(Launch(tuple(int(n) for n in grid), tuple(arguments)))
    return found
