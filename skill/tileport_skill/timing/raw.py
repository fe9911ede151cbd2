"""The folder of raw samples: which file holds what. It is written on a GPU machine and read anywhere."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = 1


@dataclass(frozen=True, slots=True)
class RawFolder:
    """Paths only; nothing is cached."""

    root: Path

    @property
    def plan(self) -> Path:
        """What is to be measured, written first and never changed."""
        return self.root / "plan.json"

    @property
    def machine(self) -> Path:
        return self.root / "machine.json"

    def searches(self, operator: str, row: str, side: str) -> Path:
        """What was searched on one row by one side, with times and what was dropped."""
        return self._tuning(operator, row, side, "searches.json")

    def tuned(self, operator: str, row: str, side: str) -> Path:
        """Exists once that row is tuned; holds the error if it could not be."""
        return self._tuning(operator, row, side, "done.json")

    def tries(self, operator: str, row: str, side: str) -> int:
        path = self._tuning(operator, row, side, "tries")
        return len(path.read_text(encoding="utf-8")) if path.is_file() else 0

    def count_try(self, operator: str, row: str, side: str) -> None:
        path = self._tuning(operator, row, side, "tries")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write("x")

    def samples(self, operator: str, process: int) -> Path:
        """Everything one process measured of one operator."""
        return self.root / "samples" / f"{operator}.{process:02d}.json"

    def log(self, name: str) -> Path:
        return self.root / "log" / f"{name}.log"

    def _tuning(self, operator: str, row: str, side: str, kind: str) -> Path:
        name = re.sub(r"[^\w.,=-]", "_", f"{row}.{side}.{kind}")
        return self.root / "tuning" / operator / name


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value: object) -> None:
    """Whole or not at all: a killed process leaves the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")
    part.replace(path)
