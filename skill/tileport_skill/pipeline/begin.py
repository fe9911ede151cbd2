"""A port begins: its task is written, this machine is looked at, and the first line of the history says how it was."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from tileport_skill.errors import RequestError
from tileport_skill.pipeline.ending import conclude_if_ended
from tileport_skill.pipeline.preflight import Item, look
from tileport_skill.pipeline.records import Entry, Problem, Task
from tileport_skill.pipeline.verdicts import Role, Verdict
from tileport_skill.pipeline.work import Work, hash_tree


def begin(work: Work, task: Task) -> tuple[Item, ...]:
    """Writes `port.json` and the preflight's entry. Raises `RequestError` where a port was begun before."""
    with work.locked():
        if work.history():
            raise RequestError(
                f"{work.root} holds a port already; `tileport-skill next --work {work.root}` goes on with it."
            )
        text = json.dumps(TypeAdapter(Task).dump_python(task, mode="json"), indent=1)
        (work.root / "port.json").write_text(text, encoding="utf-8")
        items = look(work)
        work.append(_entry(items, hash_tree(Path(task.repo))))
        conclude_if_ended(work)
    return items


def _entry(items: tuple[Item, ...], tree: dict[str, str]) -> Entry:
    lacking = [item for item in items if item.found is None]
    return Entry(
        number=1,
        role=Role.PREFLIGHT,
        verdict=Verdict.FAIL if lacking else Verdict.PASS,
        claimed=None,
        problems=tuple(Problem(owner=Verdict.FAIL_ENVIRONMENT, text=f"{i.what}: {i.otherwise}") for i in lacking),
        facts=tuple(f"{item.what}: {item.found}" for item in items if item.found),
        report=None,
        report_sha256=None,
        tree=tree,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
