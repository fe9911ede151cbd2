"""Lets the processes of a campaign run without a GPU: torch's CUDA calls go to the CPU and to a clock that is made up.

Every kernel of the stand-in checkout says how long it takes; the stand-in for cupti-python hands that back. What is
rehearsed is everything around the device: processes, files, tuning, markers, blocks, errors.
"""

import random
from types import SimpleNamespace

import standin_clock as clock
import torch
from cuda.tile import tune
from torch.overrides import TorchFunctionMode

_LARGE = 1 << 23


class _OnCpu(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "cpu"
        if function is torch.empty and isinstance(args[0], int) and args[0] > _LARGE:
            args = (1024,)  # buffers that only keep a device busy
        return function(*args, **kwargs)


class _Event:
    def __init__(self, enable_timing=False):
        self.at = 0

    def record(self):
        self.at = clock.now()

    def elapsed_time(self, other):
        return (other.at - self.at) / 1e6


_real_generator, _real_add = torch.Generator, torch.add


def _add(source, value, out):
    clock.launch("vectorized_add", 100_000)
    return _real_add(source, value, out=out)


_OnCpu().__enter__()
torch.add = _add
torch.Generator = lambda device=None: _real_generator()
torch.cuda.synchronize = lambda *_: None
torch.cuda.empty_cache = lambda: None
torch.cuda._sleep = lambda cycles: clock.launch("spin_kernel(long)", int(cycles * random.uniform(0.5, 0.505)))
torch.cuda.Event = _Event
torch.cuda.get_device_capability = lambda *_: (9, 0)
torch.cuda.get_device_properties = lambda *_: SimpleNamespace(
    name="no GPU, a stand-in", uuid="none", multi_processor_count=132, L2_cache_size=50 << 20
)


def _search(space, stream, grid_fn, kernel, args_fn, hints_fn=None, **_options):
    """cuTile's own search, as far as its answer goes: the last works best, the first takes too long to compile."""
    best = SimpleNamespace(config=space[-1], mean_us=7.0)
    failed = ((space[0], TimeoutError, "compiling took more than 5 s"),)
    return SimpleNamespace(best=best, successes=(best,), failures=failed)


tune.exhaustive_search = _search
