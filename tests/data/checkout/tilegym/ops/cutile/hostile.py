"""Operators that do what no operator should."""

import threading
import time

import cuda.tile as ct
import torch
from cuda.tile._datatype import float4_e2m1fn

from tilegym.backend import register_impl


@ct.kernel
def _copy_kernel(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))


@ct.kernel
def _double_product_kernel(a, b, c):
    i = ct.bid(0)
    accumulator = ct.zeros((16, 16), ct.float32)
    ct.store(c, (i, 0), ct.mma(ct.load(a, (i, 0), (16, 16)), ct.load(b, (0, 0), (16, 16)), accumulator))


@ct.kernel
def _four_bit_kernel(x, y):
    ct.store(y, (0,), ct.astype(ct.astype(ct.load(x, (0,), (16,)), float4_e2m1fn), ct.float16))


def _adding(constant):
    @ct.kernel
    def _namesake_kernel(x, y):
        ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) + constant)

    return _namesake_kernel


_ONE, _TWO = _adding(1.0), _adding(2.0)


@register_impl("hostile_op", backend="cutile")
def hostile_op(x, how):
    y = torch.empty_like(x)
    if how == "thread":
        worker = threading.Thread(target=_launch, args=(x, y))
        worker.start()
        worker.join()
    elif how == "huge":
        y = torch.empty((200 << 28,), device=x.device, dtype=torch.float32)  # 200 GiB
        _launch(x.float(), y[:64])
    elif how == "missing":
        import a_package_that_nobody_has  # noqa: F401
    elif how == "refused":
        square = torch.empty((16, 16), device=x.device, dtype=torch.float64)
        ct.launch(torch.cuda.current_stream(), (1,), _double_product_kernel, (square, square, square))
    elif how == "four bits":
        ct.launch(torch.cuda.current_stream(), (1,), _four_bit_kernel, (x, y))
    elif how == "namesakes":
        for kernel in (_ONE, _TWO):
            ct.launch(torch.cuda.current_stream(), (4,), kernel, (x, y))
    elif how == "host memory":
        bytearray(200 << 30)
    elif how == "hang":
        time.sleep(3600)
    return y


def _launch(x, y):
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(x.numel(), 16),), _copy_kernel, (x, y))
