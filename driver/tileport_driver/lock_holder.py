"""`python -m tileport_driver.lock_holder FILE OFFSET`: which process holds a lock on that byte; nothing if none does.

A program of its own: whoever closes a file loses all locks that it holds on it, and SQLite holds some.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

_FLOCK = "hhqqi4x"


def holder(file: Path, offset: int) -> int | None:
    """The number of the process; None where nobody holds one, or there is no such file."""
    if not file.exists():
        return None
    with file.open("r+b") as opened:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, offset, 1, 0)
        kind, _, _, _, process = struct.unpack(_FLOCK, fcntl.fcntl(opened, fcntl.F_GETLK, asked))
    return None if kind == fcntl.F_UNLCK else process


if __name__ == "__main__":
    print(holder(Path(sys.argv[1]), int(sys.argv[2])) or "")
