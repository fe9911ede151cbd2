"""What is left on disk when a port has ended: a diagnosis for every stop, `contract.json` for every port."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from tileport_skill.pipeline.contract import Contract, contract_of
from tileport_skill.pipeline.diagnosis import Diagnosis, as_markdown, diagnose
from tileport_skill.pipeline.machine import Complete, Run, Stop
from tileport_skill.pipeline.verdicts import Role
from tileport_skill.pipeline.work import Work

DIAGNOSIS = "diagnosis.json"
CONTRACT = "contract.json"


def conclude(work: Work, end: Stop | Complete) -> Path:
    """Writes what the end demands, the same each time, and returns the diagnosis's or the contract's path."""
    history = work.history()
    if isinstance(end, Stop):
        return _write(work, diagnose(end, history))
    found = contract_of(work, end.outcome, history)
    path = work.root / CONTRACT
    document = TypeAdapter(Contract).dump_python(found, mode="json")
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
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


def missing(work: Work) -> list[str]:
    """What the contract demands and is not there."""
    return [f"{lack.kind} ({lack.path}): {lack.why}" for lack in contract_of(work, "", work.history()).missing]
