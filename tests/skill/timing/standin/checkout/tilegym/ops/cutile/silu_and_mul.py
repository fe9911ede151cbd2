"""A reference that tunes once for each width, whatever the height."""

import random
from types import SimpleNamespace

import cuda.tile as ct
import standin_clock
import torch
from cuda.tile.tune import exhaustive_search

from tilegym.backend import register_impl

_tune_cache = {}
_process = random.gauss(0, 0.002)


@ct.kernel
def _silu_kernel(x, y):
    pass


@register_impl("silu_and_mul", backend="cutile")
def silu_and_mul(x):
    width = x.shape[-1]
    if width not in _tune_cache:
        space = [SimpleNamespace(occupancy=1), SimpleNamespace(occupancy=2)]
        found = exhaustive_search(space, None, lambda c: (1,), _silu_kernel, lambda c: (x,), lambda c: {})
        _tune_cache[width] = found.best.config
    a, b = x.float().chunk(2, dim=-1)
    took = x.numel() // 50 * (1 + random.gauss(_process, 0.003))
    standin_clock.launch("_silu_kernel_Kt1", int(took))
    return (torch.nn.functional.silu(a) * b).to(x.dtype)
