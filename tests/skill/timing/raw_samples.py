"""Raw folders made up for tests, in the form that processes with a GPU write."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.skill.timing.synthetic import World, blocks_of

from tileport_skill.timing.raw import FORMAT, RawFolder, write_json

OPERATOR, ROW = "silu_and_mul", "16x512"
STATE = {"sm_mhz": 1980, "memory_mhz": 3201, "throttle": 0, "celsius": 40, "milliwatts": 400_000, "processes": 1}


@dataclass(kw_only=True)
class Made:
    """One operator with one row; what a test is about is changed before `write`."""

    ratio: float = 1.0
    processes: int = 8
    world: World = field(default_factory=World)
    null_ratio: float = 1.0
    record: dict[str, Any] = field(default_factory=dict)
    """Overrides parts of every process's record of the row."""
    document: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    errors: tuple[dict[str, Any], ...] = ()
    """Records of more processes, in which the row broke."""

    def write(self, folder: Path) -> RawFolder:
        raw = RawFolder(folder)
        write_json(raw.plan, _PLAN | self.plan)
        write_json(raw.machine, {"gpu": "made up", "driver": "0", "versions": {}})
        random = np.random.default_rng(11)
        for process in range(self.processes):
            write_json(raw.samples(OPERATOR, process), self._document(process, self._record(random)))
        for process, error in enumerate(self.errors, self.processes):
            record = {"row": ROW, "before": STATE, "after": STATE, "error": error}
            write_json(raw.samples(OPERATOR, process), self._document(process, record))
        return raw

    def _document(self, process: int, record: dict[str, Any]) -> dict[str, Any]:
        points = [{"megabytes": size, "cupti_ns": 2100 * size, "event_ns": 1000 * size} for size in (64, 1024)]
        whole = {"format": FORMAT, "operator": OPERATOR, "process": process, "others_before": 0, "rows": [record]}
        return {**whole, "calibration": points, "calibration_after": points, **self.document}

    def _record(self, random: np.random.Generator) -> dict[str, Any]:
        blocks = []
        for kind, ratio in (("cold", self.ratio), ("null", self.null_ratio), ("warm", self.ratio)):
            blocks += [block | {"kind": kind} for block in blocks_of(self.world, ratio, random)]
        return {
            "row": ROW,
            "seed": 1,
            "before": STATE,
            "after": STATE,
            "outputs": [{"problem": None, "largest": 1e-3}] * 2,
            "inputs_changed": False,
            "kernels": {"cutile": ["_silu_kernel_Kt1"], "cutile-rs": ["silu_entry_ab"]},
            "blocks": blocks,
            "host_ns": {side: {"returned": 30_000, "done": 40_000} for side in ("cutile", "cutile-rs")},
            "event_ns": {"cutile": 50_000, "cutile-rs": int(50_000 / math.exp(math.log(self.ratio)))},
            **self.record,
        }


_PLAN: dict[str, Any] = {
    "format": FORMAT,
    "baseline": "cutile",
    "candidate": "cutile-rs",
    "processes": 8,
    "most_processes": 16,
    "compile_limit": 5.0,
    "reference_kernels": ["_silu_kernel"],
    "port_entries": ["silu_entry"],
    "operators": {
        OPERATOR: {
            "origin": ["ours"],
            "why": "made up",
            "rtol": 0.0,
            "atol": 0.0,
            "left_out": 0,
            "rows": [{"id": ROW, "arguments": {}}],
        }
    },
}
