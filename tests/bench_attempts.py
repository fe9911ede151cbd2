"""`make bench`: what the driver itself costs per attempt, with one finished attempt on disk and with a thousand."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tileport_driver import ledger
from tileport_driver.host.engine import docker_engine
from tileport_driver.records import Delivery, NotPorted, PortRequest, Unproved
from tileport_driver.service import begin
from tileport_driver.store import new_attempt
from tileport_driver.sweep import sweep

REQUEST = PortRequest(
    repository="/r", operator="scale", base_commit="0" * 40, reference_hash="a" * 64, engine="anthropic"
)
OUTCOME = Unproved(delivery=Delivery(branch="port/scale", commit="c" * 40), missing=())


def main() -> None:
    with docker_engine() as client:
        for count in (1, 1000):
            with tempfile.TemporaryDirectory() as folder:
                os.environ["TILEPORT_STATE"] = folder
                for number in range(count):
                    name = f"scale-20260101-000000-{number:06x}"
                    request = replace(REQUEST, reference_hash=f"{number:064x}")
                    ledger.begin(request, name)
                    new_attempt(request, name).write("outcome", OUTCOME)
                    ledger.end(name, NotPorted(reasons=("x",)))
                started = time.monotonic()
                sweep(client)
                attempt = begin(REQUEST)
                ledger.end(attempt.id, OUTCOME)
                seconds = time.monotonic() - started
                print(f"{f'sweep, ledger and folder of an attempt beside {count}, s':<58} {seconds:.2f}")
                assert Path(folder).is_dir()


if __name__ == "__main__":
    main()
