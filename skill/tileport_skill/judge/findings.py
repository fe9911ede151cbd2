"""What leaves the acceptance container: one JSON document, validated by the driver on the outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tileport_skill.verify import Row

COMPARING = "comparing Tile IR"
"""The stage after the build, as the container tells it to who waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """`cargo build --release` of the kernels crate."""

    ok: bool
    seconds: float
    command: str
    excerpt: str
    """The end of cargo's own output; the whole of it is in `build.log`."""
    library_sha256: str | None
    """Of the shared library, when there is one."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TileIr:
    """The comparison of every captured specialisation, or why there is none."""

    rows: tuple[Row, ...]
    seconds: float
    problem: str | None = None
    """Why the port could not be captured, emitted or compared at all: the port's doing, in a few lines."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything the container found. `tile_ir` is None when the port did not build."""

    build: Build
    tile_ir: TileIr | None
    versions: dict[str, str]
    schema: Literal[1] = 1
    __pydantic_config__: ClassVar = {"extra": "forbid"}
