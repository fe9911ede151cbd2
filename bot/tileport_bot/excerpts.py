"""The shortest piece of an evidence file that shows a failure, read as a stream: a log may be of any size."""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tileport_driver.records import Failed
from tileport_driver.report import first_line_and_rest

_FIRST_ERROR = re.compile(
    r"^\s*(?:error(?:\[\w+\])?:|E\s{2,}\S|FAILED |Traceback \(most recent|thread '.*' panicked|fatal"
    r"|\S+: error\b|Different\b)",
    re.IGNORECASE,
)
_LINES = 14
_LINE_CHARS = 300


class Excerpt(NamedTuple):
    file: str | None
    """Relative to the attempt's folder; None for what the gate brought along itself."""
    text: str


def first_failure(failed: Failed, attempt_dir: Path | None) -> Excerpt | None:
    """What the gate says below its first line; else from its first log that lies in the attempt's folder."""
    for reason in failed.reasons:
        if rest := first_line_and_rest(reason)[1]:
            return Excerpt(None, rest)
    if attempt_dir is None:
        return None
    root = attempt_dir.resolve()
    for name in failed.files:
        path = (root / name).resolve()
        if not path.is_relative_to(root) or not path.is_file() or path.suffix not in {".log", ".txt"}:
            continue
        if text := _excerpt(path):
            return Excerpt(name, text)
    return None


def _excerpt(path: Path) -> str:
    """From the first line that names an error; the last lines where none does."""
    tail: deque[str] = deque(maxlen=_LINES)
    with path.open(encoding="utf-8", errors="replace") as file:
        while piece := file.readline(1 << 16):
            line = piece.rstrip("\r\n")[:_LINE_CHARS]
            if _FIRST_ERROR.match(re.sub(r"\x1b\[[0-9;]*m", "", line)):
                rest = (piece.rstrip("\r\n")[:_LINE_CHARS] for piece in iter(lambda: file.readline(1 << 16), ""))
                return "\n".join([line, *islice(rest, _LINES - 1)])
            tail.append(line)
    return "\n".join(tail).strip("\n")
