"""What a container has written, measured now and then from outside: no quota holds on a bind mount."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from tileport_driver.container import Overdrawn

MOST = 8 * 2**30
"""Bytes below all the folders that one container may write."""
EVERY_SECONDS = 10.0


class Written:
    """A beat that is none: it says nothing of life, and ends the container that wrote too much."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._measured = time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self._measured < EVERY_SECONDS:
            return
        used = sum(disk_usage(folder) for folder in self._folders)
        if used > MOST:
            raise Overdrawn(f"it wrote {used / 2**30:.1f} GiB; the limit is {MOST / 2**30:.0f}")
        self._measured = time.monotonic()


def disk_usage(folder: Path) -> int:
    """Bytes that files below `folder` take, links not followed; what vanishes meanwhile counts nothing."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_blocks * 512  # noqa: PTH118 - a build has thousands
    return total
