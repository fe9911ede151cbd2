"""A fresh process that measures choices again, as the timing measures ports: to judge by.

`python -m tileport_skill.tuning.inside.confirm FOLDER SECONDS PROCESS OTHERS OPERATOR...`. Its rows are those of each
`jobs/OPERATOR.json`, its samples in the timing's format: the reference's own choice is one side, the choice the other.
Several operators share a process, for to start one takes as long as to measure one of them.
"""

from __future__ import annotations

import random
import secrets
import sys
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from tileport_skill.timing.inside import blocks
from tileport_skill.timing.inside.calibrate import calibrate
from tileport_skill.timing.inside.cupti import TraceError
from tileport_skill.timing.inside.session import versions
from tileport_skill.timing.raw import FORMAT, read_json, write_json
from tileport_skill.tuning.candidates import choice_from
from tileport_skill.tuning.inside.bench import Bench, SideProblem

OWN, CHOSEN = "reference", "chosen"
"""The two sides, as samples name them."""


class OwnProblem(Exception):
    """The reference itself does not work on a call."""


def main() -> int:
    folder, seconds, process, others = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    operators = sys.argv[5:]
    random.SystemRandom().shuffle(operators)
    bench = Bench(folder, operators[0], seconds)
    slowest, calibration = 0.0, _calibrated(bench)
    for operator in operators:
        bench.turn_to(operator)
        document: dict[str, Any] = {
            "format": FORMAT,
            "process": process,
            "started": time.time(),
            "versions": versions(),
            "others_before": others,
            "calibration": calibration,
            "operator": operator,
            "rows": [],
        }
        path = bench.folder.samples(operator, process)
        jobs = read_json(bench.folder.jobs(operator))
        random.SystemRandom().shuffle(jobs)
        for job in jobs:
            if bench.left < 2 * slowest:
                return 4
            started = time.monotonic()
            document["rows"].append(_row(bench, job))
            write_json(path, document)
            slowest = max(slowest, time.monotonic() - started)
            if not bench.works():
                return 3
        calibration = _calibrated(bench)
        write_json(path, {**document, "calibration_after": calibration})
    return 0


def _calibrated(bench: Bench) -> list[dict[str, Any]]:
    return [asdict(point) for point in calibrate(bench.tracer)]


def _row(bench: Bench, job: dict[str, Any]) -> dict[str, Any]:
    """One job's record. Whatever goes wrong in it is part of it."""
    seed = secrets.randbits(31)
    found: dict[str, Any] = {"row": job["row"], "seed": seed, "before": asdict(bench.nvml.state())}
    try:
        found |= _measured(bench, job, seed)
        bench.untouched()
    except OwnProblem as error:
        found["error"] = {"side": OWN, "what": str(error)}
    except SideProblem as error:
        found["error"] = {"side": CHOSEN, "what": str(error)}
    except TraceError as error:
        found["error"] = {"side": None, "what": f"{type(error).__name__}: {error}"}
    except Exception as error:  # ours, or the device's: recorded with its traceback in the log
        traceback.print_exc()
        found["error"] = {"side": None, "what": f"{type(error).__name__}: {error}"[:500]}
    found["after"] = asdict(bench.nvml.state())
    torch.cuda.empty_cache()
    return found


def _measured(bench: Bench, job: dict[str, Any], seed: int) -> dict[str, Any]:
    try:
        held = bench.hold(bench.plan["calls"][job["call"]], seed)
    except SideProblem as error:
        raise OwnProblem(str(error)) from error
    chosen = held.prepared(choice_from(job["choice"]))
    first = held.compared(chosen)
    kernels = held.discovered(chosen)
    measured = bench.runner.measure(held.own.run, chosen.run, held.kernels, kernels)
    last = held.compared(chosen)
    return {
        "outputs": [asdict(first), asdict(last)],
        "inputs_changed": held.inputs_changed(),
        "kernels": {OWN: list(held.kernels.names), CHOSEN: list(kernels.names)},
        "blocks": [asdict(block) for block in measured],
        "event_ns": {OWN: blocks.event_ns(held.own.run), CHOSEN: blocks.event_ns(chosen.run)},
    }


if __name__ == "__main__":
    sys.exit(main())
