"""`report.json`: what the agent claims when it ends. Claims go into the report a person reads and decide
nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from tileport_skill.agent.status import write_json

REPORT_FILE = "report.json"
_MAX_SUMMARY = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """The agent's last words."""

    summary: str
    """The text of the model's last answer."""
    exit_reason: str
    turns: int
    tool_calls: int
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def write_report(folder: Path, report: AgentReport) -> None:
    document = asdict(report)
    document["summary"] = report.summary[:_MAX_SUMMARY]
    write_json(folder / REPORT_FILE, document)
