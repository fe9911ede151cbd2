"""The cache folder outside the repository: stubs, exported Tile IR, built programs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tileport_skill.errors import MachineryError

VARIABLE = "TILEPORT_CACHE"


def cache_folder(*parts: str) -> Path:
    """`$TILEPORT_CACHE`, else `tileport` in `$XDG_CACHE_HOME` or `~/.cache`; then `parts`. Made if absent."""
    root = os.environ.get(VARIABLE)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = (Path(root) if root else caches / "tileport").joinpath(*parts)
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
    """The bytecode of that hash, checked: a port's own code ran in a process that could write the cache."""
    path = bytecode_path(sha256)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MachineryError(f"Tile IR {sha256[:16]} is not in the cache ({error}). Capture again.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        path.unlink(missing_ok=True)
        raise MachineryError(f"Tile IR {sha256[:16]} in the cache was not what its name says. Capture again.")
    return content
