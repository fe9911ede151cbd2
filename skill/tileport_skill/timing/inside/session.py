"""What every process with the GPU starts with: the plan, TileGym with both tuners replaced, the GPU and its state."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tileport_skill.timing.inside.cupti import Tracer
from tileport_skill.timing.inside.nvml import Nvml
from tileport_skill.timing.inside.tuning import Tuner
from tileport_skill.timing.raw import RawFolder, write_json

COLD_BYTES = 256 << 20
"""More than twice the L2 of any GPU so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRow:
    """One row as the plan holds it."""

    operator: str
    id: str
    arguments: Mapping[str, Any]
    rtol: float
    atol: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Which backends are compared."""

    baseline: str
    candidate: str

    @property
    def both(self) -> tuple[str, str]:
        return self.baseline, self.candidate


class Session:
    """The plan in one process."""

    def __init__(self, folder: Path, deadline: float) -> None:
        self.raw = RawFolder(folder)
        self.plan: dict[str, Any] = json.loads(self.raw.plan.read_text(encoding="utf-8"))
        self.sides = Sides(baseline=self.plan["baseline"], candidate=self.plan["candidate"])
        self._ends = time.monotonic() + deadline
        self._cold = torch.empty(COLD_BYTES >> 2, device="cuda", dtype=torch.int32)
        self.uuid = str(torch.cuda.get_device_properties(0).uuid)
        self.nvml = Nvml(self.uuid)

    def rows(self, operator: str) -> tuple[PlannedRow, ...]:
        kept = self.plan["operators"][operator]
        return tuple(
            PlannedRow(
                operator=operator,
                id=row["id"],
                arguments=_tuples(row["arguments"]),
                rtol=kept["rtol"],
                atol=kept["atol"],
            )
            for row in kept["rows"]
        )

    @property
    def left(self) -> float:
        """Seconds until this process must have ended."""
        return self._ends - time.monotonic()

    def flush_l2(self) -> None:
        self._cold.zero_()

    def tuner(self, time_of: Callable[[Callable[[], object]], float] | None) -> Tuner:
        tuner = Tuner(time_of, self.plan["compile_limit"])
        tuner.install()
        return tuner


def cold_time(tracer: Tracer, flush: Callable[[], None]) -> Callable[[Callable[[], object]], float]:
    """Seconds of device time of one call, the median of ten with a cold L2 after two that warm up."""

    def time_of(call: Callable[[], object]) -> float:
        for _ in range(2):
            call()
        torch.cuda.synchronize()
        found = sorted(timed.ns for timed in tracer.calls([(call, flush)] * 10))
        return found[5] / 1e9

    return time_of


def versions() -> dict[str, Any]:
    """What a measurement depends on."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, Any] = {"torch": torch.__version__, "cuda": torch.version.cuda, "python": sys.version.split()[0]}
    for package in ("cuda-tile", "cupti-python", "tilegym", "nvidia-cuda-tileiras", "triton"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def probe(folder: Path) -> None:
    """Writes what this machine is and which backends TileGym has here."""
    from tilegym.backend import selector

    gpu = torch.cuda.get_device_properties(0)
    nvml = Nvml(str(gpu.uuid))
    write_json(
        RawFolder(folder).machine,
        {
            "gpu": gpu.name,
            "uuid": str(gpu.uuid),
            "capability": list(torch.cuda.get_device_capability()),
            "sms": gpu.multi_processor_count,
            "l2_bytes": gpu.L2_cache_size,
            "driver": nvml.driver(),
            "nvml": nvml.missing or "ok",
            "backends": sorted(selector.get_available_backends()),
            "triton_tileir": bool(selector.is_triton_tileir_available()),
            "versions": versions(),
            "tileiras": os.environ.get("CUTILE_TILEIRAS_PATH"),
        },
    )


def _tuples(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in arguments.items()}


if __name__ == "__main__":
    probe(Path(sys.argv[1]))
