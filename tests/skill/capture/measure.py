"""What capture and emission cost, measured here: `python -m tests.skill.capture.measure [TILEGYM]`.

Without an argument TileGym's wheel is used, as the demo does.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tileport_skill.capture.session import capture
from tileport_skill.tilegym.operators import Checkout, open_checkout, read_operators


def wheel_checkout(folder: Path) -> Checkout:
    """TileGym's wheel as a checkout without tests of its own, so that our cases are used."""
    from tileport_bot.demo import make_target

    checkout = open_checkout(make_target(folder / "tilegym"))
    tests = checkout.root / "tests"
    if tests.is_dir():
        tests.rename(checkout.root / "not-tests")
    return checkout


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tileport-bench-") as folder:
        given = sys.argv[1:]
        checkout = open_checkout(Path(given[0])) if given else wheel_checkout(Path(folder))
        for name, value in measures(checkout, Path(folder)).items():
            print(f"{name:<58} {value}")


def measures(checkout: Checkout, folder: Path) -> dict[str, str]:
    """All operators in one child for one architecture, then some of them each in its own."""
    operators = read_operators(checkout)
    started = time.monotonic()
    (captured,) = capture(checkout, operators, ["sm_90"], folder / "all")
    whole = time.monotonic() - started
    alone = []
    for operator in operators[::5]:
        begun = time.monotonic()
        capture(checkout, [operator], ["sm_90"], folder / operator.name)
        alone.append(time.monotonic() - begun)
    status = Counter(test.status for test in captured.tests)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return {
        "operators, tests passed, skipped, failed": f"{len(operators)}, {status['passed']}, {status['skipped']}, "
        f"{status['failed']}",
        "launches and configurations, specialisations": f"{len(captured.launches)}, {len(captured.specialisations)}",
        "all references of sm_90, s (goal: under 240)": f"{whole:.1f}",
        "one operator alone, median of each fifth, s (goal: 15)": f"{statistics.median(alone):.1f}",
        "peak memory of a child, GiB (goal: under 3)": f"{peak:.2f}",
    }


if __name__ == "__main__":
    main()
