"""`containers/versions.toml` as a frozen record."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Every version a container or a volume holds, but for Python packages, which lock files pin."""

    debian_suite: str
    debian_image: str
    python: str
    cutile: str
    rust: str
    """The oldest that will do."""


def read_versions(containers: Path) -> Versions:
    """Raises `KeyError` if the file lacks an entry: a bug, not a user's mistake."""
    table = tomllib.loads((containers / "versions.toml").read_text(encoding="utf-8"))
    return Versions(
        debian_suite=table["debian"]["suite"],
        debian_image=table["debian"]["image"],
        python=table["python"]["version"],
        cutile=table["crates"]["cutile"],
        rust=table["rust"]["minimum"],
    )
