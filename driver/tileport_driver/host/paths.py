"""Where things lie on this machine: what can be made again (cache) and what cannot (state)."""

from __future__ import annotations

import os
from pathlib import Path

from tileport_skill.capture.cache import cache_folder


def repository_root() -> Path:
    """Tileport's own checkout; it runs from one, since images are built from `containers/`."""
    return Path(__file__).resolve().parents[3]


def containers_dir() -> Path:
    """Dockerfiles, pinned versions, the seed crate."""
    return repository_root() / "containers"


def cache_dir() -> Path:
    """Toolchains, base images, cargo targets: may be deleted at any time. `TILEPORT_CACHE` moves it."""
    return cache_folder()


def state_dir() -> Path:
    """Attempts and their progress: never deleted by us. `TILEPORT_STATE` moves it."""
    if os.environ.get("TILEPORT_STATE"):
        return Path(os.environ["TILEPORT_STATE"])
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "tileport"


def runtime_dir() -> Path:
    """For Unix sockets, whose paths may have 107 bytes at most: a short path, private to this user."""
    folder = Path("/tmp") / f"tileport-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user; remove it")
    return folder
