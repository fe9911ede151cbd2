"""The folder that a tuning fills: which file holds what. Planned on a CPU, measured on a GPU, read anywhere.

plan.json             every call with its contenders; written first, never changed
cubins/, cubins.json  carried kernels, and by which key a launch asks for which
machine.json          the GPU, as the timing describes it; peaks.json: what it was measured to do at best
search/               one file a call: how each contender did, and why others are out
samples/              what fresh processes measured of the winners, in the timing's format
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.timing.raw import RawFolder

FORMAT = 1


@dataclass(frozen=True, slots=True)
class TuningFolder:
    """Paths only."""

    root: Path

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def cubins(self) -> Path:
        return self.root / "cubins"

    @property
    def keys(self) -> Path:
        return self.root / "cubins.json"

    @property
    def machine(self) -> Path:
        return self.root / "machine.json"

    @property
    def peaks(self) -> Path:
        return self.root / "peaks.json"

    def own_search(self, operator: str, call: int, way: int) -> Path:
        """What the reference's own tuner measured, for each way to make a call; replayed by every later process."""
        return self.root / "own" / f"{operator}.{call:02d}.{way}.json"

    def search(self, operator: str, call: int) -> Path:
        return self.root / "search" / f"{operator}.{call:02d}.json"

    def trying(self, operator: str, call: int) -> Path:
        """Which contender is being run: if its process ends, the next one finds it here."""
        return self.root / "search" / f"{operator}.{call:02d}.trying"

    def jobs(self, operator: str) -> Path:
        """What fresh processes measure: pairs of a call and a choice, by the name of the row they are kept as."""
        return self.root / "jobs" / f"{operator}.json"

    def samples(self, operator: str, process: int) -> Path:
        return RawFolder(self.root).samples(operator, process)

    def log(self, name: str) -> Path:
        return RawFolder(self.root).log(re.sub(r"[^\w.-]", "_", name))
