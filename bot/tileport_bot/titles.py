"""The title of a pull request, in the manner of the repository's last commits. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CONVENTIONAL = re.compile(r"(?:feat|fix|perf|chore|ci|test|docs|refactor|style|build)(?:\([^)]*\))?!?: \S")
_BRACKETED = re.compile(r"\[[^\]]+\]\s*\S")
_ENOUGH = 0.4
"""Of the commits that must have one form before it counts as a habit: many repositories have two."""


def title_for(operator: str, subjects: Sequence[str]) -> str:
    """`feat(cutile-rs): port x to cuTile Rust`, `[cutile-rs] Port x …` or `Port x …`."""
    said = [subject for subject in subjects if subject.strip()]

    def is_habit(form: re.Pattern[str]) -> bool:
        return len(said) >= 5 and sum(bool(form.match(subject)) for subject in said) >= _ENOUGH * len(said)

    if is_habit(_CONVENTIONAL):
        return f"feat(cutile-rs): port {operator} to cuTile Rust"
    if is_habit(_BRACKETED):
        return f"[cutile-rs] Port {operator} to cuTile Rust"
    return f"Port {operator} to cuTile Rust"
