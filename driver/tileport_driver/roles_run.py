"""What a port by roles left in its working folder: its runs, and the diagnosis where it was given up.

The folder is written from inside the agent's container: what is read is bounded, no link is followed, and nothing in it
decides more than what people are told.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tileport_skill.pipeline.diagnosis import Diagnosis, Turn, turns
from tileport_skill.pipeline.ending import DIAGNOSIS
from tileport_skill.pipeline.records import Entry
from tileport_skill.pipeline.verdicts import Role, Verdict

_MOST_BYTES = 32 * 2**20
_HISTORY = "history.jsonl"


def read_turns(folder: Path) -> tuple[Turn, ...]:
    """The runs, as far as they can be read: what follows a damaged line is left out."""
    entries = []
    for line in read_plain(folder / _HISTORY).splitlines():
        try:
            entries.append(TypeAdapter(Entry).validate_json(line))
        except ValidationError:
            break
    return turns(entries)


def read_diagnosis(folder: Path) -> Diagnosis | None:
    """None where the port was not given up, or what stands there is no diagnosis."""
    text = read_plain(folder / DIAGNOSIS)
    try:
        return TypeAdapter(Diagnosis).validate_json(text) if text else None
    except ValidationError:
        return None


def machine_lacks(found: Diagnosis | None) -> str | None:
    """What preflight missed: that is this machine's fault and no attempt's."""
    if found is None or found.last.role is not Role.PREFLIGHT or found.last.verdict is not Verdict.FAIL:
        return None
    return "The agent's container lacks what a port needs. " + " ".join(found.last.problems)


def read_plain(path: Path) -> bytes:
    """Bounded, and empty for what is no plain file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as file:
        return file.read(_MOST_BYTES) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
