"""A stand-in for the assembler that keeps what it is given and then runs the real one."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

# A shell script: it starts in a millisecond, and the port's process cannot reach into it.
_SCRIPT = """#!/bin/sh
for argument in "$@"; do
  case $argument in
    -*) ;;
    *) if [ -f "$argument" ]; then cp "$argument" "{folder}/$$-$(basename "$argument").bytecode"; fi ;;
  esac
done
exec "{assembler}" "$@"
"""


def write_recorder(path: Path, folder: Path, assembler: Path) -> None:
    """An executable at `path` that leaves a copy of every bytecode it assembles in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(_SCRIPT.format(folder=folder, assembler=assembler), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def gather(folder: Path) -> tuple[str, ...]:
    """Renames what was recorded after its SHA-256, dropping repeats; the hashes, sorted."""
    found = set()
    for path in sorted(folder.glob("*")):
        content = path.read_bytes()
        # Tile IR bytecode begins with a byte of its own and these letters.
        if content[1:7] != b"TileIR":
            path.unlink()
            continue
        digest = hashlib.sha256(content).hexdigest()
        found.add(digest)
        path.rename(folder / f"{digest}.tileirbc")
    return tuple(sorted(found))
