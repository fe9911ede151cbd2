"""What capture costs, measured here: `python -m tests.skill.capture.measure [TILEGYM]`, a part of `make bench`.

Without an argument TileGym's wheel is used, as the demo does.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from tileport_skill.capture.session import capture
from tileport_skill.capture.survey import Survey, survey
from tileport_skill.tilegym.operators import Checkout, open_checkout, read_operators

ALONE = 9
"""Operators captured each by itself, evenly over the alphabet."""


def wheel_checkout(folder: Path) -> Checkout:
    """TileGym's wheel as a checkout without tests of its own, so that our cases are used."""
    from tileport_bot.demo import make_target

    checkout = open_checkout(make_target(folder / "tilegym"))
    tests = checkout.root / "tests"
    if tests.is_dir():
        tests.rename(checkout.root / "not-tests")
    return checkout


class PeakMemory(threading.Thread):
    """The largest sum of what this process's descendants held at once, shared pages counted once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self._ended = threading.Event()

    def __enter__(self) -> PeakMemory:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        while not self._ended.wait(0.5):
            self.bytes = max(self.bytes, sum(map(_proportional, _descendants())))


def _descendants() -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended meanwhile
                continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
        given = sys.argv[1:]
        checkout = open_checkout(Path(given[0])) if given else wheel_checkout(Path(folder))
        for name, value in measures(checkout, Path(folder)).items():
            print(f"{name:<66} {value}")


def measures(checkout: Checkout, folder: Path) -> dict[str, str]:
    """All tests for one architecture, two processes at a time; then some operators each by itself."""
    with PeakMemory() as peak:
        whole: Survey = survey(checkout, ["sm_90"], folder / "all", "today")
    operators = read_operators(checkout)
    alone = []
    for operator in operators[:: max(1, len(operators) // ALONE)]:
        begun = time.monotonic()
        capture(checkout, [operator], ["sm_90"], folder / operator.name, for_ports=False)
        alone.append(time.monotonic() - begun)
    total: Counter[str] = Counter()
    for row in whole.files:
        total.update(passed=row.passed, skipped=row.skipped, failed=row.failed, launches=row.launches)
        total.update(configurations=row.configurations, specialisations=row.specialisations)
    return {
        "tests passed, skipped, failed": f"{total['passed']}, {total['skipped']}, {total['failed']}",
        "launches, configurations, specialisations": f"{total['launches']}, {total['configurations']}, "
        f"{total['specialisations']}",
        "all references of sm_90, s (goal: under 240)": f"{whole.seconds['sm_90']:.1f}",
        "peak memory of all processes together, GiB (goal: under 3)": f"{peak.bytes / 2**30:.2f}",
        f"one operator alone, median of {len(alone)}, s (goal: under 15)": f"{statistics.median(alone):.1f}",
    }


if __name__ == "__main__":
    main()
