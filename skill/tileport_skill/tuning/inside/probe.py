"""What this machine is, and what it can do at best: `python -m tileport_skill.tuning.inside.probe FOLDER SECONDS`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch

from tileport_skill.timing.inside.cupti import Tracer
from tileport_skill.timing.inside.session import COLD_BYTES, probe
from tileport_skill.timing.raw import write_json
from tileport_skill.tuning.folder import TuningFolder

_COPY_BYTES = 1 << 30
_SIDE = 8192
_RUNS = 10


def main() -> int:
    folder = TuningFolder(Path(sys.argv[1]))
    folder.root.mkdir(parents=True, exist_ok=True)
    probe(folder.root)
    tracer = Tracer()
    cold = torch.empty(COLD_BYTES >> 2, device="cuda", dtype=torch.int32)
    source = torch.empty(_COPY_BYTES >> 2, device="cuda", dtype=torch.float32).zero_()
    target = torch.empty_like(source)
    copied = _best(tracer, lambda: torch.add(source, 1.0, out=target), cold)
    left, right = (torch.empty((_SIDE, _SIDE), device="cuda", dtype=torch.float16).fill_(0.01) for _ in range(2))
    product = torch.empty_like(left)
    multiplied = _best(tracer, lambda: torch.matmul(left, right, out=product), cold)
    write_json(
        folder.peaks,
        {
            "bytes_per_second": 2 * _COPY_BYTES / copied,
            "flops": 2 * _SIDE**3 / multiplied,
            "how": f"CUPTI, best of {_RUNS}: torch.add over {_COPY_BYTES >> 20} MiB, torch.matmul of float16 {_SIDE}²",
        },
    )
    return 0


def _best(tracer: Tracer, call: Callable[[], object], cold: torch.Tensor) -> float:
    """Seconds of device time of the fastest of some calls, by the clock that everything is measured by."""
    call()
    torch.cuda.synchronize()
    return min(timed.ns for timed in tracer.calls([(call, lambda: cold.zero_())] * _RUNS)) / 1e9


if __name__ == "__main__":
    sys.exit(main())
