"""Paired blocks: two sides in random ABBA order, with a cold L2 and a warm one; the reference against itself."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tileport_skill.timing.inside.cupti import Timed, TraceError, Tracer, event, spin

CALLS_IN_BLOCK = 4
SECONDS = 1.0
"""What the blocks of one row may take in one process, unless the fewest blocks take longer."""
FEWEST, MOST = 8, 20
_OVERHEAD_NS = 250_000
"""Flushing, spinning and synchronising around one call."""
_HIDE_LAUNCH = 400_000
"""Cycles the device spins while the host launches the call between two events."""
_HOST_NS = 100_000_000
"""Device time that one run of host timing may fill; never more calls than a launch queue takes."""
_AT_ONCE = 4
"""Blocks between two readings of CUPTI's records and of the throttle bits."""

Work = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Four calls next to each other."""

    kind: str
    """`cold` or `warm`; `null` has the reference on both sides, with a cold L2."""
    order: str
    """`ABBA` or `BAAB`; A is the reference."""
    ns: tuple[int, ...]
    marker_ns: tuple[int, ...]
    throttle: int | None
    """NVML's throttle bits while it ran, before or after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """What every call of one side launches."""

    names: tuple[str, ...]
    ns: int


class Runner:
    """Runs blocks and holds every call to the kernels found beforehand."""

    def __init__(self, tracer: Tracer, flush: Callable[[], None], throttle: Callable[[], int | None]) -> None:
        self._tracer, self._flush, self._throttle = tracer, flush, throttle

    def discover(self, call: Work) -> Kernels:
        """Three cold calls, which must launch the same."""
        call()
        found = self._tracer.calls([(call, self._flush)] * 3)
        sets = {tuple(sorted(timed.names)) for timed in found}
        if len(sets) != 1:
            raise RuntimeError(f"its calls launch different kernels: {sorted(sets)}")
        return Kernels(names=sets.pop(), ns=sorted(timed.ns for timed in found)[1])

    def measure(self, reference: Work, port: Work, of_reference: Kernels, of_port: Kernels) -> list[Block]:
        """All blocks of one row, cold and null ones mixed; how many was decided by the first calls' length alone."""
        cost = max(of_reference.ns, of_port.ns) + _OVERHEAD_NS
        count = max(FEWEST, min(MOST, int(SECONDS * 1e9 / (2.5 * CALLS_IN_BLOCK * cost))))
        kinds = ["cold", "null"] * count
        chance = random.SystemRandom()
        chance.shuffle(kinds)
        kinds += ["warm"] * (count // 2)
        sides = {"A": (reference, of_reference), "B": (port, of_port)}
        found: list[Block] = []
        for start in range(0, len(kinds), _AT_ONCE):
            orders = [(kind, chance.choice(("ABBA", "BAAB"))) for kind in kinds[start : start + _AT_ONCE]]
            found += self._blocks(orders, sides)
        return found

    def cold(self, reference: Work, port: Work, of_reference: Kernels, of_port: Kernels, count: int) -> list[Block]:
        """So many blocks with a cold L2 and nothing else: to rank by, never to judge by."""
        sides = {"A": (reference, of_reference), "B": (port, of_port)}
        return self._blocks([("cold", random.SystemRandom().choice(("ABBA", "BAAB"))) for _ in range(count)], sides)

    def _blocks(self, orders: list[tuple[str, str]], sides: dict[str, tuple[Work, Kernels]]) -> list[Block]:
        steps = []
        for kind, order in orders:
            for letter in order:
                call = sides["A" if kind == "null" else letter][0]
                steps.append((call, call if kind == "warm" else self._flush))
        before = self._throttle()
        timed = self._tracer.calls(steps)
        after = self._throttle()
        bits = None if before is None or after is None else before | after
        found = []
        for index, (kind, order) in enumerate(orders):
            four = timed[index * CALLS_IN_BLOCK : (index + 1) * CALLS_IN_BLOCK]
            for letter, one in zip(order, four, strict=True):
                _check(one, sides["A" if kind == "null" else letter][1])
            found.append(
                Block(
                    kind=kind,
                    order=order,
                    ns=tuple(one.ns for one in four),
                    marker_ns=tuple(one.marker_ns for one in four),
                    throttle=bits,
                )
            )
        return found


def _check(one: Timed, kernels: Kernels) -> None:
    if tuple(sorted(one.names)) != kernels.names:
        raise TraceError(f"a timed call launched {sorted(one.names)} where every call before launched {kernels.names}")


def event_ns(call: Work) -> int:
    """Device time by CUDA events, host time hidden as far as the call lets it: to cross-check, never to judge by."""
    found = []
    for _ in range(5):
        before, after = event(), event()
        spin(_HIDE_LAUNCH)
        before.record()
        call()
        after.record()
        torch.cuda.synchronize()
        found.append(round(before.elapsed_time(after) * 1e6))
    return int(statistics.median(found))


def host_ns(call: Work, device_ns: int) -> dict[str, int]:
    """Host time of one call: until it returns, and until the device is done too; medians of five runs."""
    calls = max(5, min(100, int(_HOST_NS / device_ns)))
    for _ in range(3):
        call()
    returned, done = [], []
    for _ in range(5):
        torch.cuda.synchronize()
        started = time.perf_counter_ns()
        for _ in range(calls):
            call()
        back = time.perf_counter_ns()
        torch.cuda.synchronize()
        returned.append((back - started) // calls)
        done.append((time.perf_counter_ns() - started) // calls)
    return {"returned": int(statistics.median(returned)), "done": int(statistics.median(done))}
