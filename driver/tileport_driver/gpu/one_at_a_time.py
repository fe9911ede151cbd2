"""One judgement per GPU at a time on a machine: what runs beside it would spoil its times."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tileport_driver.host.paths import runtime_dir

_LOOK_SECONDS = 0.5


@contextmanager
def gpu_to_itself(tick: Callable[[str], None]) -> Iterator[None]:
    """Waits until no other judgement has the GPU that this process sees first; a killed one lets it go."""
    gpu = (os.environ.get("CUDA_VISIBLE_DEVICES") or "0").split(",")[0].replace("/", "-")
    with (runtime_dir() / f"gpu-{gpu}.lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                tick(f"waiting for GPU {gpu}, which judges another port")
                time.sleep(_LOOK_SECONDS)
        yield
