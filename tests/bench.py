"""`make bench`: what an attempt costs beside the agent, cargo and image builds, measured on this machine.

Runs the demo's attempt twice and prints the second: the first may build images and the toolchain.
"""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

from tileport_bot.demo import demo_script, make_target
from tileport_driver.progress import Progress
from tileport_driver.requests import Order
from tileport_driver.service import Ended, port
from tileport_driver.store import AttemptFolder
from tileport_skill.judge.findings import Findings


def main() -> None:
    target = make_target(Path("build/bench/tilegym"))
    order = Order(operator="silu_and_mul", repository=target, engine="scripted", script=demo_script())
    port(order, Progress(), lambda: False)
    started = time.monotonic()
    ended = port(order, Progress(), lambda: False)
    whole = time.monotonic() - started
    for name, value in measures(ended, whole).items():
        print(f"{name:<58} {value}")


def measures(ended: Ended, whole: float) -> dict[str, str]:
    """Seconds and MiB of one attempt, by part."""
    attempt = ended.attempt
    assert attempt is not None, ended.outcome
    run = attempt.agent_run()
    findings = _findings(attempt)
    assert run is not None
    compared = findings.tile_ir.seconds if findings.tile_ir else 0.0
    draft = attempt.draft_run()
    drafted = draft.seconds if draft else 0.0
    overhead = whole - drafted - run.seconds - findings.build.seconds - compared
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "outcome": ended.outcome.kind,
        "whole attempt, s": f"{whole:.1f}",
        "draft to begin at, s": f"{drafted:.1f}",
        "agent's container, s": f"{run.seconds:.1f}",
        "cargo build, s": f"{findings.build.seconds:.1f}",
        "capture, emission and comparison of Tile IR, s": f"{compared:.1f}",
        "everything else, s (goal: with comparison under 10)": f"{overhead:.1f}",
        "peak memory of the driver, MiB (goal: under 500)": f"{peak:.0f}",
    }


def _findings(attempt: AttemptFolder) -> Findings:
    from pydantic import TypeAdapter

    return TypeAdapter(Findings).validate_python(json.loads((attempt.evidence / "findings.json").read_text()))


if __name__ == "__main__":
    main()
