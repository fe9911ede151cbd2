"""What a draft came to, as the one JSON document that leaves the program: kernels by route, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import TypeAdapter

from tileport_skill.draft.measure import Measured
from tileport_skill.draft.operator import KernelDraft, Refusal
from tileport_skill.draft.port import PortDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftReport:
    """One operator's draft. It says what was written, never that it is right: that is proved elsewhere."""

    operator: str
    files: tuple[str, ...]
    """Paths in the checkout."""
    kernels: tuple[Measured, ...]
    refused: tuple[Refusal, ...]
    """Kernels that are not drafted; the lines are the reference's."""
    host: str | None
    """Why there is neither launcher nor wrapper; None where there are both."""
    seconds: float
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there is no whole port, each kernel by name and line; empty where there is one."""
        if self.host is None:
            return ()
        kernels = tuple(f"{one.kernel}{_at(one.line)} is not drafted: {one.reason}." for one in self.refused)
        whole = f"No port can be drafted: {self.host}."
        # Where nothing is translated, a kernel's own reason says more; the first one is what lists show.
        return (whole, *kernels) if self.kernels else (*kernels, whole)


def _at(line: int | None) -> str:
    return f" (line {line})" if line else ""


def report_of(operator: str, draft: KernelDraft, port: PortDraft, seconds: float) -> DraftReport:
    return DraftReport(
        operator=operator,
        files=tuple(port.files),
        kernels=draft.translated,
        refused=draft.refused,
        host=port.refused,
        seconds=round(seconds, 1),
    )


def write_report(report: DraftReport, path: Path) -> None:
    """Whole or not at all, for a reader on the other side of a container's wall."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(TypeAdapter(DraftReport).dump_json(report, indent=1))
    part.replace(path)
