"""A reference whose speed its configuration, its hints and its options decide; see `_took`."""

import os
from types import SimpleNamespace

import cuda.tile as ct
import torch
from cuda.tile.tune import exhaustive_search

from tilegym.backend import register_impl

_softmax_tune_cache = {}


@ct.kernel
def _softmax_kernel(x, y, TILE: ct.Constant[int]):
    pass


@ct.kernel
def _softmax_kernel_wide(x, y):
    pass


@register_impl("softmax", backend="cutile")
def softmax(x, use_wide=False, **kwargs):
    y = torch.empty_like(x)
    if use_wide:
        ct.launch(None, (1, 1, 1), _softmax_kernel_wide, (x, y))
        return y
    width = x.shape[-1]
    if width not in _softmax_tune_cache:
        space = [SimpleNamespace(TILE=tile, occupancy=1) for tile in (32, 64)]
        found = exhaustive_search(
            space, None, lambda c: (1, 1, 1), _softmax_kernel, lambda c: (x, y, c.TILE), lambda c: {"occupancy": 1}
        )
        _softmax_tune_cache[width] = found.best.config
    best = _softmax_tune_cache[width]
    ct.launch(None, (1, 1, 1), _softmax_kernel.replace_hints(occupancy=1), (x, y, best.TILE))
    return y


def _took(kernel, args):
    """Nanoseconds for each element times 50, and what it does wrong."""
    name, occupancy = kernel._pyfunc.__name__, kernel._compiler_options.occupancy
    width = args[0].shape[-1]
    if name == "_softmax_kernel_wide":
        return 0.8 if width >= 1024 else 2.0
    if args[2] == 16 and os.environ.get("STANDIN_FAULT") == "aborts":
        os.abort()
    if args[2] == 512:
        raise RuntimeError("no such tile")
    cost = {16: 1.5, 32: 1.2, 64: 1.0, 128: 0.7, 256: 0.5}[args[2]]
    # TILE=256 is fastest, and wrong; of the rest TILE=128 with occupancy 2 is.
    return cost * (0.8 if occupancy == 2 else 1.0)
