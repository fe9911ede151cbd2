"""Each role: what it is for, which texts it reads, which files are its own. A spawn prompt is pointers to these."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tileport_skill.pipeline.verdicts import Role
from tileport_skill.tilegym.port_files import PortFiles

SKILL = Path(__file__).parents[2]
"""The folder of SKILL.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What a role is given."""

    reads: tuple[str, ...]
    """Texts of the skill, relative to its folder; the role's own first."""
    writes: tuple[str, ...]
    """Names of the port's files that it may change, as `PortFiles` has them."""


_ALL = ("wrapper", "kernel", "launcher", "library", "registration", "test")
BRIEFS: dict[Role, Brief] = {
    Role.ANALYZER: Brief(reads=("roles/analyzer.md",), writes=_ALL),
    Role.KERNEL_WRITER: Brief(
        reads=(
            "roles/kernel-writer.md",
            "references/kernel-language.md",
            "references/example-pointers.md",
            "references/example-views.md",
        ),
        writes=("kernel",),
    ),
    Role.HOST_BUILDER: Brief(
        reads=("roles/host-builder.md", "references/host-code.md"),
        writes=tuple(name for name in _ALL if name != "kernel"),
    ),
    Role.IR_ANALYST: Brief(reads=("roles/ir-analyst.md", "references/tile-ir.md"), writes=()),
    Role.PERFORMANCE_VERIFIER: Brief(reads=("roles/performance-verifier.md",), writes=()),
    Role.PERFORMANCE_INVESTIGATOR: Brief(
        reads=("roles/performance-investigator.md", "references/tile-ir.md"), writes=()
    ),
}


def reading(role: Role) -> int:
    """Bytes that a role reads of the skill before its work."""
    return sum((SKILL / path).stat().st_size for path in BRIEFS[role].reads)


def own_files(role: Role, files: PortFiles) -> frozenset[str]:
    """The paths that a role may change."""
    return frozenset(getattr(files, name) for name in BRIEFS[role].writes)
