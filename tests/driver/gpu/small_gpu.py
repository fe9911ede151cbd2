"""A GPU host without a GPU: a pack whose `run.sh` brings evidence that was recorded, and all else as it is.

Imported by `small_attempts.py` for the role `gpu`. Each run writes when it began and ended, as two must not overlap.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.driver.gpu.test_gates import caught
from tests.skill.correctness.evidence import flawless, recorded, with_port
from tests.skill.timing.raw_samples import OPERATOR, Made
from tileport_driver.gpu import judging
from tileport_driver.gpu import worker as gpu_worker
from tileport_driver.gpu.performance import FOLDER, LIBRARY
from tileport_driver.host.paths import state_dir
from tileport_driver.records import AgentCheckout, Patch
from tileport_skill.correctness.records import write_json

BUILT = recorded().job.library_sha256
"""The library's hash in the findings that the small judge leaves."""
TRACE = "gpu-trace"


def stand_in() -> None:
    """This process judges as if it had a GPU."""
    judging.needs = lambda: ()
    gpu_worker.needs = lambda: ()
    judging.pack = _pack  # type: ignore[assignment]


def _pack(record: AgentCheckout, patch: Patch, base: Path, tree: Path, folder: Path) -> None:
    evidence = folder / "recorded"
    evidence.mkdir(parents=True)
    caught(evidence, "reference", "_swiglu_forward_kernel")
    found = with_port(flawless(), bytecodes=(caught(evidence, "port", "swiglu_forward_kernel_entry"),))
    job = dataclasses.replace(found.job, result_tree=patch.result_tree)
    host = {**found.host, "capability": "9.0"}
    write_json(evidence / "correctness.json", dataclasses.replace(found, job=job, host=host))
    for log in ("port-traced.xml", "reference-traced.xml", "port.log"):
        (evidence / log).touch()
    Made().write(evidence / FOLDER)
    (evidence / FOLDER / LIBRARY).write_text(f"{BUILT}  -\n")
    for path in sorted(evidence.joinpath(FOLDER).rglob("*.json*")):
        path.write_text(path.read_text().replace(OPERATOR, record.operator))
        path.rename(path.with_name(path.name.replace(OPERATOR, record.operator)))
    trace = state_dir() / TRACE
    lines = ["#!/bin/sh", f"echo begin >> {trace}; sleep 0.3", f'mkdir -p "$1"; cp -r {evidence}/. "$1"']
    (folder / "run.sh").write_text("\n".join([*lines, f"echo end >> {trace}"]) + "\n")
