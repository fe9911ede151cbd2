"""Device work as CUPTI records it. CUPTI takes one subscriber: start this when all tuning is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from tileport_skill.correctness.records import Kernel

_BUFFER_BYTES = 8 << 20
_synchronize = torch.cuda.synchronize  # as it is before a port could replace it


class Trace:
    """Records kernels, copies and fills from its making to the process's end."""

    def __init__(self) -> None:
        from cupti import cupti

        self._cupti = cupti
        self._seen: list[tuple[int, Kernel]] = []
        kinds = cupti.ActivityKind
        self._names = {int(kinds.MEMCPY): "driver copy", int(kinds.MEMSET): "driver fill"}
        cupti.activity_register_callbacks(lambda: (_BUFFER_BYTES, 0), self._completed)
        self._kinds = (kinds.CONCURRENT_KERNEL, kinds.MEMCPY, kinds.MEMSET)
        for kind in self._kinds:
            cupti.activity_enable(kind)

    @contextmanager
    def window(self) -> Iterator[list[Kernel]]:
        """The list is filled when the block has ended, with everything the whole device did meanwhile."""
        self.drain()
        found: list[Kernel] = []
        yield found
        found += self.drain()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """For calls from several threads: CUPTI asks Python for buffers in them, and two might wait for one another."""
        self.drain()
        for kind in self._kinds:
            self._cupti.activity_disable(kind)
        try:
            yield
        finally:
            for kind in self._kinds:
                self._cupti.activity_enable(kind)

    def drain(self) -> list[Kernel]:
        """What was recorded since the last call, in the order in which it began."""
        _synchronize()
        self._cupti.activity_flush_all(1)
        seen, self._seen = self._seen, []
        return [kernel for _, kernel in sorted(seen, key=lambda pair: pair[0])]

    def _completed(self, activities: list[Any]) -> None:
        for activity in activities:
            name = self._names.get(int(activity.kind)) or str(activity.name)
            self._seen.append((int(activity.start), Kernel(name=name, stream=int(activity.stream_id))))
