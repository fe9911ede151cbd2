"""Candidates' kernels assembled ahead of time on the CPU, a few at once, each bounded; kept in the cache.

What `tileiras` said of a kernel is kept too, so that what was refused once is not tried again by the same version.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tileport_skill.capture.cache import cache_folder, read_bytecode
from tileport_skill.tileir.assemble import Cubin, assemble, toolchain_version
from tileport_skill.tileir.cubin import Needs, needs

SECONDS = 10
"""A processor's time for one kernel. On an H200 whatever took more than 5 s ran at least 2.4 times slower than the
best; wall time says nothing of a kernel where the machine is busy."""
_WALL = 20 * SECONDS
"""Seconds after which one is given up whatever it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A kernel that can be launched."""

    sha256: str
    """Of the whole cubin."""
    size: int
    needs: Needs
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A kernel that is not tried, with the reason."""

    reason: str
    seconds: float = 0.0


Answer = Assembled | Dropped


def assemble_all(
    wanted: Sequence[str], arch: str, seconds: float, workers: int = 0, say: Callable[[str], None] | None = None
) -> dict[str, Answer]:
    """What became of each Tile IR of `wanted`, by hash; the first are made first. Ends after about `seconds`.

    Each kernel is made by a process of its own, bounded in time and memory. `workers` of 0 takes what the machine has.
    """
    store = Store(arch)
    ends = time.monotonic() + seconds
    count = len(wanted)
    done = 0
    lock = threading.Lock()

    def one(sha256: str) -> Answer:
        nonlocal done
        answer = store.known(sha256) or _made(store, sha256, arch, ends)
        with lock:
            done += 1
            if say is not None and (done % 50 == 0 or done == count):
                say(f"{done} of {count} kernels assembled")
        return answer

    with ThreadPoolExecutor(max_workers=workers or os.cpu_count() or 1) as pool:
        return dict(zip(wanted, pool.map(one, wanted), strict=True))


def _made(store: Store, sha256: str, arch: str, ends: float) -> Answer:
    left = ends - time.monotonic()
    if left <= 0:
        return Dropped(reason="the time for compiling was spent before its turn")
    started = time.monotonic()
    found = assemble.__wrapped__(read_bytecode(sha256), arch, min(_WALL, max(left, 1.0)), SECONDS)
    took = round(time.monotonic() - started, 2)
    if isinstance(found, Cubin):
        try:
            asked = needs(found.image)
        except (struct.error, ValueError) as error:
            return Dropped(reason=f"its cubin cannot be read: {error}", seconds=took)
        return store.keep(
            sha256, found, Assembled(sha256=found.sha256, size=len(found.image), needs=asked, seconds=took)
        )
    if found.timed_out:
        of_itself = "processor" in found.reason
        dropped = Dropped(reason=f"compiling it: {found.reason}", seconds=took)
        # A machine that was busy, or a budget that ended, says nothing for the next time.
        return store.refuse(sha256, dropped) if of_itself else dropped
    return store.refuse(sha256, Dropped(reason=f"{found.tool}: {found.reason.splitlines()[0][:300]}", seconds=took))


class Store:
    """Cubins and what was said of them, on disk, by the Tile IR they were made of."""

    def __init__(self, arch: str) -> None:
        self._folder = cache_folder("cubins", toolchain_version(), arch)

    def known(self, ir: str) -> Answer | None:
        try:
            kept = json.loads((self._folder / f"{ir}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if "reason" in kept:
            return Dropped(**kept)
        answer = Assembled(**{**kept, "needs": Needs(**kept["needs"])})
        return answer if self.path(answer.sha256).is_file() else None

    def keep(self, ir: str, cubin: Cubin, answer: Assembled) -> Assembled:
        _written(self.path(answer.sha256), cubin.image)
        self._note(ir, answer)
        return answer

    def refuse(self, ir: str, answer: Dropped) -> Dropped:
        self._note(ir, answer)
        return answer

    def path(self, cubin: str) -> Path:
        return self._folder / f"{cubin}.cubin"

    def _note(self, ir: str, answer: Answer) -> None:
        document: dict[str, Any] = asdict(answer)
        _written(self._folder / f"{ir}.json", json.dumps(document).encode())


def hashes(answers: dict[str, Answer]) -> Iterator[str]:
    """The cubins there are."""
    yield from dict.fromkeys(answer.sha256 for answer in answers.values() if isinstance(answer, Assembled))


def _written(path: Path, content: bytes) -> None:
    """Whole or not at all: several runs share the folder."""
    part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    part.write_bytes(content)
    part.replace(path)
