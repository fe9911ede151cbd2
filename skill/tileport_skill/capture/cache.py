"""The cache folder outside the repository: stubs, exported Tile IR, built programs."""

from __future__ import annotations

import os
from pathlib import Path

from tileport_skill.errors import MachineryError

VARIABLE = "TILEPORT_CACHE"


def cache_folder(*parts: str) -> Path:
    """`$TILEPORT_CACHE` or `~/.cache/tileport`, then `parts`; made if absent."""
    root = os.environ.get(VARIABLE)
    folder = (Path(root) if root else Path.home() / ".cache" / "tileport").joinpath(*parts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineryError(
            f"The cache folder {folder} cannot be made: {error}. Set {VARIABLE} to another."
        ) from error
    return folder


def bytecode_path(sha256: str) -> Path:
    """Where the exported Tile IR of that hash lies."""
    return cache_folder("ir") / f"{sha256}.tileirbc"


def read_bytecode(sha256: str) -> bytes:
    path = bytecode_path(sha256)
    try:
        return path.read_bytes()
    except OSError as error:
        raise MachineryError(f"Tile IR {sha256[:16]} is not in the cache ({error}). Capture again.") from error
