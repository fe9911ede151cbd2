"""A port whose speed and faults the environment decides."""

import os
import random
from types import SimpleNamespace

import standin_clock
import torch

from tilegym.backend import register_impl
from tilegym.backend.cutile_rs.autotuner import autotune_launch

_RATIO = float(os.environ.get("STANDIN_RATIO", "1"))
_FAULT = os.environ.get("STANDIN_FAULT", "")
if _FAULT == "patches":
    torch.cuda.Event.elapsed_time = lambda *_: 1e-6
_process = random.gauss(0, 0.002)
_calls = 0


@register_impl("silu_and_mul", backend="cutile-rs")
def silu_and_mul(x):
    def run(configuration):
        global _calls
        _calls += 1
        if configuration.occupancy == 8:
            os.abort()  # as a panic in Rust does
        if configuration.occupancy == 4:
            raise RuntimeError("cutile_silu failed (rc=-3): kernel launch failed")
        if _FAULT == "raises":
            raise NotImplementedError("float16 is not supported")
        a, b = x.float().chunk(2, dim=-1)
        slow = 1.5 if configuration.occupancy == 1 else 1.0
        name = "_silu_kernel_Kt1" if _FAULT == "reference" else "silu_entry_ab12"
        if _FAULT == "later" and _calls > 30:
            name = "another_kernel"
        took = x.numel() // 50 / _RATIO * slow * (1 + random.gauss(_process, 0.003))
        standin_clock.launch(name, int(took))
        if _FAULT == "input":
            x[..., 0] = 0
        return (torch.nn.functional.silu(a) * b).to(x.dtype) * (1.5 if _FAULT == "wrong" else 1)

    occupancies = (1, 2, 4, 8) if _FAULT == "aborts" else (1, 2, 4)
    configurations = [SimpleNamespace(occupancy=occupancy) for occupancy in occupancies]
    return autotune_launch(kernel_fn=run, configs=configurations, key=x.shape[-1], kernel_name="silu").output
