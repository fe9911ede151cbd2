"""The record of a conversation, made by us: `transcript.jsonl`, append-only, one JSON document a line.

Everything the broker knows is folded from it, so a driver that is killed and started again goes on where it
was.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, TypeAdapter, ValidationError

from tileport_driver.broker.budget import Spent
from tileport_driver.broker.masking import Masks
from tileport_driver.records import EngineName, Usage
from tileport_skill.errors import MachineryError


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A question goes out to the real API. Written before, so that a lost answer still counts as money."""

    time: str
    request_hash: str
    tokens: int
    dollars: Decimal
    """The most the answer may come to."""
    kind: Literal["sent"] = "sent"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One question and its answer."""

    number: int
    """Counts from 1."""
    time: str
    seconds: float
    engine: EngineName
    request_hash: str
    """SHA-256 of the request as it came, before anything was masked."""
    shared: int
    """How many of the request's messages are those the exchange before it began with; on disk they are left
    out, as a conversation would otherwise be written again with every turn. `read_transcript` puts them
    back."""
    request: dict[str, Any]
    response: dict[str, Any]
    usage: Usage
    """For the scripted engine made up from bytes, see `scripted.py`."""
    dollars: Decimal
    role: str | None = None
    """Whose conversation it was, in a port by roles; the agent's own word."""
    kind: Literal["exchange"] = "exchange"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A question that got an error."""

    time: str
    request_hash: str
    by: Literal["broker", "upstream"]
    final: Literal["budget", "role-budget", "divergence"] | None
    status: int
    error: str
    message: str
    kind: Literal["refused"] = "refused"
    __pydantic_config__: ClassVar = {"extra": "forbid"}


Record = Annotated[Sent | Exchange | Refused, Discriminator("kind")]
_RECORD: TypeAdapter[Sent | Exchange | Refused] = TypeAdapter(Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the records so far come to."""

    exchanges: int = 0
    last: Exchange | None = None
    """With its request whole."""
    spent: Spent = field(default_factory=Spent)
    roles: Mapping[str, Spent] = field(default_factory=dict)
    """What each role has used of it."""
    open: Sent | None = None
    """Sent, and neither answered nor refused yet."""
    divergence: str | None = None
    trouble: str | None = None
    """What the API last said that is no fault of the agent's, if no answer has followed it."""

    def after(self, record: Sent | Exchange | Refused) -> Standing:
        match record:
            case Sent():
                return replace(self, spent=self._with_lost(), open=record)
            case Refused():
                told = record.message if record.final == "divergence" else self.divergence
                return replace(self, open=None, divergence=told, trouble=_trouble(record))
            case Exchange():
                whole = _with_messages(record, self.last)
                role = {} if record.role is None else {record.role: _grown(self.of_role(record.role), record)}
                return replace(
                    self,
                    exchanges=self.exchanges + 1,
                    last=whole,
                    spent=_grown(self.spent, record),
                    roles={**self.roles, **role},
                    open=None,
                    trouble=None,
                )

    def of_role(self, role: str) -> Spent:
        return self.roles.get(role, Spent())

    def settled(self) -> Standing:
        """For a broker that starts: an answer that is still open now will never come."""
        return replace(self, spent=self._with_lost(), open=None)

    def _with_lost(self) -> Spent:
        if self.open is None:
            return self.spent
        return replace(
            self.spent,
            lost_tokens=self.spent.lost_tokens + self.open.tokens,
            lost_dollars=self.spent.lost_dollars + self.open.dollars,
        )


class Transcript:
    """The open file: locked for one broker, its torn end cut off, its standing kept as records are added."""

    def __init__(self, path: Path, masks: Masks) -> None:
        self._masks = masks
        self._path = path
        self.failure: str | None = None
        """Why the last record could not be written, for the driver to see."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            # The lock goes with the process, so a killed driver leaves none behind.
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise MachineryError(
                f"{path} is in use: another driver serves this attempt. End it, or wait for it."
            ) from None
        data = path.read_bytes()
        os.ftruncate(self._handle, data.rfind(b"\n") + 1)
        self.standing = Standing()
        for record in _records(data, path):
            self.standing = self.standing.after(record)
        self.standing = self.standing.settled()

    def close(self) -> None:
        os.close(self._handle)

    def append(self, record: Sent | Exchange | Refused) -> None:
        """On the disk when this returns. Raises `MachineryError`, and leaves no half line, when it cannot
        be."""
        if isinstance(record, Exchange):
            masked = replace(
                record, request=self._masks.json(record.request), response=self._masks.json(record.response)
            )
            record = _without_shared(masked, self.standing.last)
        elif isinstance(record, Refused):
            record = replace(record, message=self._masks.text(record.message))
        line = json.dumps(asdict(record), ensure_ascii=True, default=str).encode() + b"\n"
        size = os.fstat(self._handle).st_size
        try:
            written = os.write(self._handle, line)
            if written != len(line):
                raise OSError(f"only {written} of {len(line)} bytes were written")
            os.fsync(self._handle)
        except OSError as error:
            os.ftruncate(self._handle, size)
            self.failure = f"{self._path} cannot be written: {error}. Free space on its disk and resume."
            raise MachineryError(self.failure) from error
        self.failure = None
        self.standing = self.standing.after(record)


def read_transcript(path: Path) -> tuple[Sent | Exchange | Refused, ...]:
    """Every record, requests whole; a line that was being written when the driver was killed is dropped."""
    if not path.exists():
        return ()
    last: Exchange | None = None
    whole: list[Sent | Exchange | Refused] = []
    for record in _records(path.read_bytes(), path):
        if isinstance(record, Exchange):
            last = record = _with_messages(record, last)
        whole.append(record)
    return tuple(whole)


def divergence(path: Path) -> str | None:
    """Where the conversation left its script, for a person; None if it did not."""
    standing = Standing()
    for record in read_transcript(path):
        standing = standing.after(record)
    return standing.divergence


def request_hash(request: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _records(data: bytes, path: Path) -> Iterator[Sent | Exchange | Refused]:
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    for number, line in enumerate(lines, 1):
        try:
            yield _RECORD.validate_json(line)
        except ValidationError as error:
            raise MachineryError(
                f"{path}, line {number}, is no record of ours: {error.errors()[0]['msg']}. The file "
                "was changed; move it away and start the attempt anew."
            ) from error


def _without_shared(record: Exchange, last: Exchange | None) -> Exchange:
    messages = record.request["messages"]
    before = last.request["messages"] if last is not None else []
    shared = 0
    while shared < min(len(messages), len(before)) and messages[shared] == before[shared]:
        shared += 1
    return replace(record, shared=shared, request={**record.request, "messages": messages[shared:]})


def _with_messages(record: Exchange, last: Exchange | None) -> Exchange:
    before = last.request["messages"][: record.shared] if last is not None else []
    return replace(record, shared=0, request={**record.request, "messages": [*before, *record.request["messages"]]})


def _trouble(record: Refused) -> str | None:
    if record.by == "broker" or record.status in (400, 404, 413):
        return None
    if record.status in (401, 403):
        return f"The API does not take the key: {record.message}. Set ANTHROPIC_API_KEY to a valid one and resume."
    return f"The API answered {record.status}: {record.message}. Resume when it answers again."


def _grown(spent: Spent, record: Exchange) -> Spent:
    return replace(spent, usage=_added(spent.usage, record.usage), dollars=spent.dollars + record.dollars)


def _added(one: Usage, other: Usage) -> Usage:
    return Usage(**{name: getattr(one, name) + getattr(other, name) for name in asdict(one)})
