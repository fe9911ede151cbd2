"""Processes of this machine, as the kernel tells of them."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

GONE = ("", "Z")
_STATE, _BEGAN = 0, 19


def process_state(pid: int) -> str:
    """`T` stopped, `Z` a zombie; empty if there is none of that number."""
    return _field(pid, _STATE)


def identity(pid: int) -> str:
    """Host, process and when it began, so that a number used again is not taken for the same process."""
    return f"{socket.gethostname()}:{pid}:{_field(pid, _BEGAN)}"


def alive(process: str) -> int | None:
    """The number of the process of that identity if it is here and lives; None too for what is another machine's."""
    host, _, rest = process.partition(":")
    number, _, began = rest.partition(":")
    if host != socket.gethostname() or not number.isdecimal():
        return None
    pid = int(number)
    return pid if began and _field(pid, _BEGAN) == began and process_state(pid) not in GONE else None


def is_elsewhere(process: str) -> bool:
    """Whether an identity is another machine's, or none at all: then nothing is known of it here."""
    host, _, rest = process.partition(":")
    return host != socket.gethostname() or not rest.partition(":")[0].isdecimal()


def running_for(pid: int) -> float | None:
    """Seconds since a process began, by the kernel's clock, which no one sets; None if there is none."""
    began = _field(pid, _BEGAN)
    if not began.isdecimal():
        return None
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(began) / os.sysconf("SC_CLK_TCK")


def _field(pid: int, place: int) -> str:
    """Of `/proc/PID/stat`, counted from the one behind the name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[place]
    except (OSError, IndexError):
        return ""
