"""Kernels of our own, exported by cuTile Python itself: the real input of everything in this folder."""

from __future__ import annotations

import functools
import importlib.util
import io
import sys
from collections.abc import Callable
from pathlib import Path

import cuda.tile as ct
import pytest
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel

Export = Callable[..., bytes]


@ct.kernel
def a_times_b(A, B, C):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((32, 32), ct.float32)
    for k in range(4):
        acc = ct.mma(ct.load(A, (i, k), (32, 32)), ct.load(B, (k, j), (32, 32)), acc)
    ct.store(C, (i, j), ct.astype(acc, ct.float16))


@ct.kernel
def b_times_a(A, B, C):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((32, 32), ct.float32)
    for k in range(4):
        acc = ct.mma(ct.load(B, (i, k), (32, 32)), ct.load(A, (k, j), (32, 32)), acc)
    ct.store(C, (i, j), ct.astype(acc, ct.float16))


@ct.kernel
def a_times_b_renamed(Left, Right, Product):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.full((32, 32), 0.0, ct.float32)
    for step in range(4):
        left = ct.load(Left, (row, step), (32, 32))
        right = ct.load(Right, (step, column), (32, 32))
        total = ct.mma(left, right, total)
    ct.store(Product, (row, column), ct.astype(total, ct.float16))


def array(dtype, ndim: int, align: int = 16) -> ArrayConstraint:
    """A contiguous array; `align` is what base address, shape and row stride are multiples of, in bytes."""
    return ArrayConstraint(
        dtype,
        ndim,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[None] * (ndim - 1) + [1],
        stride_divisible_by=[max(1, align // 2)] * (ndim - 1) + [1],
        shape_divisible_by=align,
        base_addr_divisible_by=align,
    )


@functools.cache
def _export(kernel, parameters: tuple, symbol: str, arch: str) -> bytes:
    signature = KernelSignature(list(parameters), CallingConvention.cutile_python_v1(), symbol=symbol)
    out = io.BytesIO()
    export_kernel(kernel, [signature], out, gpu_code=arch, output_format="tileir_bytecode", bytecode_version="13.3")
    return out.getvalue()


@pytest.fixture(scope="session")
def gemm() -> Callable[..., bytes]:
    """Exports one of the matrix products above: `gemm("a_times_b")`."""
    kernels = {"a_times_b": a_times_b, "b_times_a": b_times_a, "renamed": a_times_b_renamed}

    def export(name: str, symbol: str = "kernel_entry", align: int = 16, arch: str = "sm_90") -> bytes:
        parameter = array(ct.float16, 2, align)
        return _export(kernels[name], (parameter, parameter, parameter), symbol, arch)

    return export


@pytest.fixture(scope="session")
def soak():
    """The soak's modules by name: `soak("tileir_kernels")`."""

    def load(name: str):
        folder = Path(__file__).parents[2] / "soak"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
            sys.modules[name] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        return sys.modules[name]

    return load
