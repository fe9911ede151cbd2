"""What is left on disk when a port has ended: a diagnosis for every stop, `contract.json` for every port."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from tileport_skill.pipeline.diagnosis import Diagnosis, as_markdown, diagnose
from tileport_skill.pipeline.machine import Complete, Run, Stop
from tileport_skill.pipeline.records import Entry
from tileport_skill.pipeline.verdicts import Role
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.port_files import port_files

DIAGNOSIS = "diagnosis.json"


def conclude(work: Work, end: Stop | Complete) -> Path:
    """Writes what the end demands, the same each time, and returns the diagnosis's or the contract's path."""
    history = work.history()
    if isinstance(end, Stop):
        return _write(work, diagnose(end, history))
    path = work.root / "contract.json"
    path.write_text(json.dumps({"outcome": end.outcome, "files": contract(work, history)}, indent=1), encoding="utf-8")
    return path


def cut_short(work: Work, role: Role, why: str) -> Path:
    """The diagnosis of a run that ended within a role's turn: its budget is spent. With more of it, the role is due."""
    found = diagnose(Stop(f"{role} was cut short: {why}"), work.history())
    return _write(work, replace(found, owner="budget", seen=True))


def _write(work: Work, found: Diagnosis) -> Path:
    document = TypeAdapter(Diagnosis).dump_python(found, mode="json")
    (work.root / DIAGNOSIS).write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
    path = work.root / "diagnosis.md"
    path.write_text(as_markdown(found), encoding="utf-8")
    return path


def conclude_if_ended(work: Work) -> None:
    """Also where the process was killed before it was written."""
    step = work.step()
    if not isinstance(step, Run):
        conclude(work, step)


def contract(work: Work, history: Sequence[Entry]) -> list[dict[str, str | None]]:
    """Every file that belongs to the port, with who wrote it and its hash; `None` for the hash of what is missing."""
    checkout, operator = work.place()
    found: list[dict[str, str | None]] = []
    before = "a program's draft" if work.task().drafted else "the checkout"
    for name in port_files(checkout, operator).all:
        found.append(_line(name, checkout.root / name, _writer(name, history) or before))
    for path in sorted(work.root.rglob("*")):
        if path.is_file() and path.name not in {"contract.json", "lock"} and "scratch" not in path.parts:
            name = path.relative_to(work.root).as_posix()
            found.append(_line(name, path, _author(name)))
    missing = [name for name in _WANTED if not any(str(line["path"]).startswith(name) for line in found)]
    return found + [{"path": name, "by": "nobody", "sha256": None} for name in missing]


_WANTED = (
    "port.json",
    "history.jsonl",
    "facts/analysis.json",
    "ir/reference/",
    "ir/generated/",
    "pipeline.rs",
    "logs/build.log",
    "logs/dispatch.json",
    "logs/correctness",
    "performance/",
    "reports/",
    "transcript.jsonl",
)
"""What belongs to a finished port beside its six files. `pipeline.rs` and `logs/correctness` need a GPU, the
transcript is the broker's: where they were not brought here they are listed as missing."""


def missing(work: Work) -> list[str]:
    """What the contract demands and is not there."""
    return [str(line["path"]) for line in contract(work, work.history()) if line["sha256"] is None]


def _author(name: str) -> str:
    """In the working folder roles write reports and what they put under `notes/`; programs write the rest."""
    if name.startswith("reports/"):
        return name.split("/")[1].rpartition("-")[0]
    return "a role" if name.startswith("notes/") else "program"


def _writer(path: str, history: Sequence[Entry]) -> str | None:
    """The role after whose run the file had the hash it has at the end; None for what no role has changed."""
    for entry, before in _backwards(history):
        if entry.tree.get(path) != before.get(path):
            return str(entry.role)
    return None


def _backwards(history: Sequence[Entry]) -> Iterator[tuple[Entry, dict[str, str]]]:
    for place in range(len(history) - 1, -1, -1):
        yield history[place], history[place - 1].tree if place else history[place].tree


def _line(name: str, path: Path, by: str) -> dict[str, str | None]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    return {"path": name, "by": by, "sha256": digest}
