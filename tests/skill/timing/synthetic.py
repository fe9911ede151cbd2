"""Samples whose truth is known, and how often the rule is right about them.

`python -m tests.skill.timing.synthetic` prints the figures that test_statistics.py quotes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tileport_skill.timing.judging import RULE
from tileport_skill.timing.samples import is_undisturbed
from tileport_skill.timing.statistics import Interval, block_log_ratio, interval, process_log_ratio

BLOCKS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """How a GPU behaves: standard deviations of log-times, and what else happens."""

    between: float = 0.004
    """Between processes: memory layout, and everything else that is drawn once."""
    within: float = 0.01
    """Between calls."""
    drift: float = 0.0
    """By how much the clock falls over a process, as a log-time."""
    outliers: float = 0.0
    """How many calls are held up, by up to half their time."""
    slow_clock: float = 0.0
    """How often the clock steps down by 15 %, or back up again, between two calls."""


def blocks_of(world: World, ratio: float, random: np.random.Generator) -> list[dict[str, object]]:
    """One process's blocks, as they are written down: reference ÷ port is `ratio`."""
    own = random.normal(math.log(ratio), world.between)
    found, slow, call = [], False, 0
    for _ in range(BLOCKS):
        order = "ABBA" if random.random() < 0.5 else "BAAB"
        times, markers = [], []
        for letter in order:
            slow ^= random.random() < world.slow_clock
            clock = world.drift * call / (4 * BLOCKS) + (math.log(1.15) if slow else 0.0)
            call += 1
            held = random.uniform(0, 0.5) if random.random() < world.outliers else 0.0
            log_time = (own if letter == "A" else 0.0) + clock + random.normal(0, world.within) + held
            times.append(1e5 * math.exp(log_time))
            markers.append(10_000 * math.exp(clock))
        found.append({"kind": "cold", "order": order, "ns": times, "marker_ns": markers, "throttle": 0})
    return found


def measured(world: World, ratio: float, processes: int, random: np.random.Generator) -> list[float]:
    """One number a process, taken as the real samples are."""
    found = []
    for _ in range(processes):
        kept = [block for block in blocks_of(world, ratio, random) if is_undisturbed(block)]
        found.append(process_log_ratio([block_log_ratio(block["order"], block["ns"]) for block in kept]))  # type: ignore[arg-type]
    return found


def two_looks(world: World, ratio: float, random: np.random.Generator) -> Interval:
    """The budget's rule: eight processes, and eight more while the interval includes 0.95."""
    values = measured(world, ratio, 8, random)
    first = interval(values)
    return first if not first.low < RULE <= first.high else interval(values + measured(world, ratio, 8, random))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Of many measurements of one truth."""

    covered: float
    accepted: float
    width: float


def rates(world: World, ratio: float, runs: int, seed: int) -> Rates:
    random = np.random.default_rng(seed)
    found: Sequence[Interval] = [two_looks(world, ratio, random) for _ in range(runs)]
    return Rates(
        covered=sum(one.low <= ratio <= one.high for one in found) / runs,
        accepted=sum(one.low >= RULE for one in found) / runs,
        width=sum(one.width for one in found) / runs,
    )


WORLDS = {
    "quiet": World(),
    "noisy": World(between=0.01, within=0.03),
    "drift": World(drift=0.1),
    "outliers": World(outliers=0.1),
    "two clocks": World(slow_clock=0.02),
}


def main() -> None:
    for name, world in WORLDS.items():
        for ratio in (1.0, 0.96, 0.95, 0.94):
            found = rates(world, ratio, 1000, 7)
            print(
                f"{name:10} true {ratio:.2f}: covered {found.covered:.1%}, accepted {found.accepted:.1%}, "
                f"width {found.width:.2%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
