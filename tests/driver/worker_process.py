"""A worker as a process of its own, whose attempts have small stages without Docker: what is tested is who does them.

Arguments: seconds of a lease, seconds that each stage takes; fewer than none: until there is a file `go` in the state
folder, where every stage writes a line to `trace`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from tileport_driver import attempt as attempts
from tileport_driver.host.paths import state_dir
from tileport_driver.records import NotPorted
from tileport_driver.store import AttemptFolder
from tileport_driver.worker import work


def stage(name: str, seconds: float) -> Any:
    def run(attempt: AttemptFolder, host: Any) -> None:
        trace(attempt, f"begin {name}")
        attempt.work.mkdir(exist_ok=True)
        time.sleep(max(0.0, seconds))
        while seconds < 0 and not (state_dir() / "go").exists():
            time.sleep(0.05)
        if name == "publish":
            attempt.write("outcome", NotPorted(reasons=("as the test says",)))
        trace(attempt, f"end {name}")
        if name == "report":  # an attempt with an outcome and no trees has ended
            attempt.work.rmdir()

    return run


def trace(attempt: AttemptFolder, what: str) -> None:
    with (state_dir() / "trace").open("a") as file:
        file.write(f"{os.getpid()} {attempt.id} {what}\n")


@contextmanager
def open_host(progress: Any, stop: Any) -> Iterator[Any]:
    yield SimpleNamespace(progress=progress, stop=stop)


if __name__ == "__main__":
    lease, seconds = float(sys.argv[1]), float(sys.argv[2])
    attempts.STAGES.update({name: stage(name, seconds) for name in attempts.STAGES})
    attempts.open_host = open_host  # type: ignore[assignment]
    print(work("agents", lambda: False, drain=True, lease_seconds=lease))
