"""The issue about a port that no longer equals its reference. Pure."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tileport_bot.review_records import PortReview
from tileport_driver.report import first_line_and_rest
from tileport_skill.pages.markdown import fit
from tileport_skill.pages.render import render

TEMPLATES = Path(__file__).parent / "templates"
_MARKER = re.compile(r"<!-- tileport:drift (\{.*?\}) -->")
MOST_LACKING = 200
"""So many configurations an issue remembers."""


def title(operator: str) -> str:
    return f"The cuTile Rust port of {operator} no longer equals its reference"


def label(operator: str) -> str:
    """What asks for the port again."""
    return f"port: {operator}"


def body(port: PortReview, *, commit: str, since: str | None, lacking: tuple[str, ...]) -> str:
    """`since` is where the push began; `lacking` what the reference's tuner has gained and the port's has not."""
    failed = [(gate.gate, [first_line_and_rest(reason)[0] for reason in gate.reasons[:20]]) for gate in port.failed]
    return fit(
        render(
            TEMPLATES / "drift.md.j2",
            marker=_marker(port.operator, lacking[:MOST_LACKING]),
            port=port,
            lacking=lacking,
            failed=failed,
            rows=[row for row in port.ir_rows if row.verdict != "equal"],
            equal=sum(row.verdict == "equal" for row in port.ir_rows),
            commit=commit,
            since=since,
            label=label(port.operator),
        )
    )


def closing(old: str, *, operator: str, commit: str) -> str:
    """The same issue once the port is equal again: what was found stays for whoever looks back."""
    said = f"{_marker(operator, ())}\n**Equal again** at `{commit[:12]}`, therefore closed. What was found before:\n\n"
    return fit(said + old.partition("\n")[2].removeprefix("**Equal again**"))


def operator_of(text: str) -> str | None:
    """Which port an issue of ours is about; None if it is no issue about drift."""
    found = _MARKER.match(text)
    return str(json.loads(found[1])["operator"]) if found else None


def lacking_of(text: str) -> tuple[str, ...]:
    """The configurations that an issue of ours was opened or kept open for."""
    found = _MARKER.match(text)
    return tuple(json.loads(found[1])["lacking"]) if found else ()


def _marker(operator: str, lacking: tuple[str, ...]) -> str:
    hidden = json.dumps({"operator": operator, "lacking": lacking}).replace("-", "\\u002d")
    return f"<!-- tileport:drift {hidden} -->"
