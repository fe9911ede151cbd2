"""The task file: one Markdown document with the system prompt under `# System` and the first message under
`# Task`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tileport_skill.errors import RequestError

_SYSTEM = "# System\n"
_TASK = "\n# Task\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one conversation is told."""

    system: str
    message: str


def parse_task(text: str, *, name: str = "task.md") -> Task:
    """Raises `RequestError` unless the text is `# System`, a prompt, `# Task`, a message, in that order."""
    if not text.startswith(_SYSTEM) or _TASK not in text:
        raise RequestError(
            f"{name} must begin with the line `# System`, followed by the system prompt, the line `# Task` "
            "and the first message."
        )
    system, message = text.removeprefix(_SYSTEM).split(_TASK, 1)
    if not system.strip() or not message.strip():
        raise RequestError(f"{name} has nothing under `# System` or under `# Task`; write both.")
    return Task(system=system.strip(), message=message.strip())


def read_task(path: Path) -> Task:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"The task file {path} cannot be read: {error}. Give a UTF-8 text file.") from error
    return parse_task(text, name=path.name)
