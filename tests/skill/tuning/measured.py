"""Folders of tunings made up for tests: what searches and fresh processes would have written of the stand-in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.skill.timing.raw_samples import STATE
from tests.skill.timing.synthetic import World, blocks_of
from tests.skill.tuning.conftest import CONTENDERS, document

from tileport_skill.timing.raw import FORMAT, write_json
from tileport_skill.tuning.candidates import Choice, choice_from, plain
from tileport_skill.tuning.folder import TuningFolder
from tileport_skill.tuning.jobs import jobs_of


@dataclass(kw_only=True)
class Measured:
    """A tuning of some widths; `true` says how fast a choice is on a width, and 1 where it says nothing."""

    widths: tuple[int, ...]
    held_out: tuple[int, ...] = ()
    true: Mapping[tuple[Choice, int], float] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    """Overrides parts of every record."""
    processes: int = 5
    more: tuple[Choice, ...] = ()
    """Contenders beside the stand-in's."""

    def write(self, root: Path) -> TuningFolder:
        folder = TuningFolder(root)
        kept = document(self.widths, self.held_out)
        widths = (*self.widths, *self.held_out)
        contenders = (*CONTENDERS, *self.more)
        for call in kept["calls"]:
            call["contenders"] = [] if call["held_out"] else [plain(one) for one in contenders]
        write_json(folder.plan, {"arch": "sm_90", "operators": {"softmax": kept}})
        write_json(folder.machine, {"gpu": "made up", "capability": [9, 0]})
        write_json(folder.peaks, {"bytes_per_second": 4e12, "flops": 8e14, "how": "made up"})
        searches = {}
        for number, width in enumerate(self.widths):
            scores = [math.log(self.true.get((one, width), 0.9)) for one in contenders]
            best = max(range(len(scores)), key=lambda index: scores[index])
            searches[number] = {
                "call": kept["calls"][number]["id"],
                "winner": best if scores[best] > 0.01 else None,
                "problem": None,
                "contenders": [
                    {"choice": plain(one), "score": score, "blocks": 14, "lost": None}
                    for one, score in zip(contenders, scores, strict=True)
                ],
            }
            write_json(folder.search("softmax", number), searches[number])
        jobs = jobs_of(kept, searches)
        write_json(folder.jobs("softmax"), jobs)
        random = np.random.default_rng(7)
        points = [{"megabytes": size, "cupti_ns": 2100 * size, "event_ns": 1000 * size} for size in (64, 1024)]
        for process in range(self.processes):
            rows = [self._row(job, widths[job["call"]], random) for job in jobs]
            whole = {"format": FORMAT, "operator": "softmax", "process": process, "others_before": 0, "rows": rows}
            whole |= {"started": 1_796_000_000, "calibration": points, "calibration_after": points}
            write_json(folder.samples("softmax", process), whole)
        return folder

    def _row(self, job: dict[str, Any], width: int, random: np.random.Generator) -> dict[str, Any]:
        ratio = self.true.get((choice_from(job["choice"]), width), 1.0)
        blocks = []
        for kind, true in (("cold", ratio), ("null", 1.0), ("warm", ratio)):
            blocks += [block | {"kind": kind} for block in blocks_of(World(), true, random)]
        return {
            "row": job["row"],
            "seed": 1,
            "before": STATE,
            "after": STATE,
            "outputs": [{"problem": None, "largest": 0.0}] * 2,
            "inputs_changed": False,
            "kernels": {"reference": ["k"], "chosen": ["k"]},
            "blocks": blocks,
            "event_ns": {"reference": 50_000, "chosen": 50_000},
            **self.record,
        }
