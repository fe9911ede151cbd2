"""One live process per attempt on a machine: a lock on a file in its folder, which a killed process lets go."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from tileport_driver.store import AttemptFolder
from tileport_skill.errors import RequestError


@contextmanager
def alone(attempt: AttemptFolder) -> Iterator[None]:
    """Raises `RequestError` while another process works on the attempt."""
    with (attempt.path / "driver.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            raise RequestError(f"{attempt.id} is being worked on by another tileport process.") from taken
        yield


def is_worked_on(attempt: AttemptFolder) -> bool:
    """Whether some process holds the lock right now."""
    try:
        with alone(attempt):
            return False
    except RequestError:
        return True
