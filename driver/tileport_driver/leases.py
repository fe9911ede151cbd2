"""Work is held by a lease that is renewed while it goes on; who could not renew it in time has lost it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tileport_skill.errors import MachineryError


@contextmanager
def renewed(
    renew: Callable[[], bool], seconds: float, name: str, lost: threading.Event | None = None
) -> Iterator[threading.Event]:
    """Renews a lease of so many seconds until the block ends; gives the event that is set once it is lost.

    `renew` says whether the lease was still ours, and raises `MachineryError` where the database is away: then it is
    asked again for as long as the lease can be ours.
    """
    over, lost = threading.Event(), lost or threading.Event()

    def keep() -> None:
        last = time.monotonic()
        while not over.wait(seconds / 4):
            try:
                if not renew():
                    lost.set()
                    return
                last = time.monotonic()
            except MachineryError:
                if time.monotonic() - last > seconds:
                    lost.set()
                    return

    thread = threading.Thread(target=keep, name=f"lease-{name}", daemon=True)
    thread.start()
    try:
        yield lost
    finally:
        over.set()
        thread.join()
