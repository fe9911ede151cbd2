"""A tuning table made up for tests: one line, of the kernel and for the shapes that a test names."""

from __future__ import annotations

from typing import Any

from tileport_skill.tuning.table import Line, Table


def drafted_table(**line: Any) -> Table:
    """A table of the operator `drafted` on sm_90."""
    shown: dict[str, Any] = {"fields": {"occupancy": 4}, "hints": {}, "options": {}, "shapes": ("a",)}
    return Table(
        operator="drafted",
        arch="sm_90",
        reference_sha256="",
        date="2026-11-30",
        gpu="a GPU",
        versions={},
        copies=True,
        lines=(Line(ratio=1.2, low=1.1, high=1.3, **{**shown, **line}),),
    )
