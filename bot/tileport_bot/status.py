"""A request's stage, and the record of it that lies hidden in its status comment.

The comment is the only memory when the bot runs in GitHub Actions: a runner keeps nothing between two events.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError


class Stage(StrEnum):
    """In the order a request goes through them; it ends in one of the last three."""

    RECEIVED = "received"
    AUTHORISED = "authorised"
    QUEUED = "queued"
    PREPARING = "preparing"
    RUNNING = "running"
    CAPTURED = "captured"
    CHECKING = "checking"
    PUBLISHING = "publishing"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        return self in (Stage.DONE, Stage.FAILED, Stage.CANCELLED)


MAX_ATTEMPTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One request in one issue: an operator, and the hash of its reference."""

    operator: str
    reference: str
    stage: Stage
    attempt: int
    """The attempt that is being made, or was made last; from 1."""
    spent: int = 0
    """Attempts that counted: an agent ran and its port was rejected, or it had none."""
    asked_by: str
    asked_at: str = ""
    """When, as GitHub tells it; an event from before then is an old one that was late."""
    trigger: str
    """The act that asked for the current attempt."""
    evidence: str = ""
    """Address of the page that has the current attempt's record: a workflow's run, or ours where people reach it."""
    pull_request: int = 0
    """The number of the one that holds the port; 0 for none."""
    judged: int = 0
    """The GPU queue's job whose end was told last; 0 for none."""
    past_triggers: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    """How earlier attempts ended, a line each."""


_RECORD = TypeAdapter(Record)
_MARKER = re.compile(r"<!-- tileport:status (\{.*?\}) -->")
_REPLY = re.compile(r"<!-- tileport:reply (\".*?\") -->")


def status_marker(record: Record) -> str:
    """The hidden line that `read_record` finds again."""
    return f"<!-- tileport:status {_hidden(asdict(record))} -->"


def read_record(comment: str) -> Record | None:
    """The record in a comment of ours; None when it holds none, or none that is whole."""
    found = _MARKER.match(comment)
    if not found:
        return None
    try:
        return _RECORD.validate_json(found[1])
    except ValidationError:
        return None


def reply_marker(trigger: str) -> str:
    """Marks an answer with the act it answers, so that it is given once."""
    return f"<!-- tileport:reply {_hidden(trigger)} -->"


def answered_trigger(comment: str) -> str | None:
    found = _REPLY.match(comment)
    if not found:
        return None
    trigger = json.loads(found[1])
    return trigger if isinstance(trigger, str) else None


def _hidden(value: object) -> str:
    """JSON that cannot end an HTML comment, whatever a label holds."""
    return json.dumps(value).replace("-", "\\u002d")
