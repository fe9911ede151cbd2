"""What the bot remembers between two events, and of a request while it is worked on.

Without a database the issue itself is the memory: hidden lines in comments of our own. With one, the tables of
`requests.py` are, and what stands in the issue is for people; a request that the tables do not know (the repository
was renamed, the database is new) is still read from its comment.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol

from tileport_bot import requests
from tileport_bot.events import Place
from tileport_bot.github import GitHub
from tileport_bot.requests import Request
from tileport_bot.status import Record, Stage, answered_trigger, read_record
from tileport_driver.leases import renewed
from tileport_driver.worker import worker_name
from tileport_skill.errors import MachineryError


class Recalled(NamedTuple):
    """What is known of an issue."""

    records: tuple[Record, ...]
    answered: frozenset[str]
    """Triggers that have had their answer."""


class Journal(Protocol):
    """One request while it is worked on."""

    @property
    def attempt(self) -> str | None:
        """The driver's attempt that was begun for it, if it is gone on with."""
        ...

    def note_attempt(self, name: str) -> None: ...

    def note_stage(self, record: Record) -> None: ...

    def last_words(self, record: Record, comment: str, line: str) -> None:
        """Kept before they are said."""
        ...

    def told(self) -> None: ...

    def taken_back(self, comment: int | None) -> Record | None:
        """The request as somebody took it back; `comment` is its status comment."""
        ...


class Memory(Protocol):
    def recall(self, place: Place) -> Recalled: ...

    def knows(self, place: Place, operator: str) -> bool:
        """Whether it is known without asking GitHub that the operator was asked for in this issue."""
        ...

    def enter(self, place: Place, record: Record) -> int | None:
        """None if the request is new; else the issue in which the same is asked for."""
        ...

    def take_back(self, place: Place, record: Record, comment: str) -> bool:
        """True if `comment` is to be written now; else whoever works on it writes its own."""
        ...

    def journal(self, place: Place, record: Record) -> AbstractContextManager[Journal]:
        """Of a request that was entered, held while it is worked on here."""
        ...


class IssueMemory:
    """The issue is the memory."""

    def __init__(self, github: GitHub) -> None:
        self._github = github

    def recall(self, place: Place) -> Recalled:
        if not place.issue:
            return Recalled((), frozenset())
        bodies = [comment.body for comment in self._github.own_comments(place.repository, place.issue)]
        records = tuple(record for body in bodies if (record := read_record(body)))
        return Recalled(records, frozenset(trigger for body in bodies if (trigger := answered_trigger(body))))

    def knows(self, place: Place, operator: str) -> bool:
        return False

    def enter(self, place: Place, record: Record) -> int | None:
        return None

    def take_back(self, place: Place, record: Record, comment: str) -> bool:
        return True

    @contextmanager
    def journal(self, place: Place, record: Record) -> Iterator[Journal]:
        yield _IssueJournal(self._github, place.repository)


class _IssueJournal:
    attempt = None

    def __init__(self, github: GitHub, repository: str) -> None:
        self._github = github
        self._repository = repository

    def note_attempt(self, name: str) -> None: ...

    def note_stage(self, record: Record) -> None: ...

    def last_words(self, record: Record, comment: str, line: str) -> None: ...

    def told(self) -> None: ...

    def taken_back(self, comment: int | None) -> Record | None:
        there = read_record(self._github.read_comment(self._repository, comment)) if comment is not None else None
        return there if there and there.stage is Stage.CANCELLED else None


class DatabaseMemory:
    """The tables are the memory."""

    def __init__(self, github: GitHub) -> None:
        self._issue = IssueMemory(github)

    def recall(self, place: Place) -> Recalled:
        kept = requests.of_issue(place.repository, place.issue)
        said = self._issue.recall(place)
        known = {request.record.operator for request in kept}
        records = (*(r for r in said.records if r.operator not in known), *(request.record for request in kept))
        return Recalled(records, said.answered)

    def knows(self, place: Place, operator: str) -> bool:
        return any(r.record.operator == operator for r in requests.of_issue(place.repository, place.issue))

    def enter(self, place: Place, record: Record) -> int | None:
        request, is_new = requests.enter(place, replace(record, stage=Stage.QUEUED))
        return None if is_new else request.place.issue

    def take_back(self, place: Place, record: Record, comment: str) -> bool:
        for request in requests.of_issue(place.repository, place.issue):
            if request.record.operator == record.operator and request.state != "ended":
                return requests.take_back(request.id, record, comment).state == "ended"
        return True

    @contextmanager
    def journal(self, place: Place, record: Record) -> Iterator[Journal]:
        """Entered again if need be, so that it may be taken from whoever began it and is gone."""
        request, _ = requests.enter(place, record)
        taken = requests.take(worker_name(), id=request.id)
        if taken is None:
            raise MachineryError(f"{record.operator} is worked on by another process ({request.worker}).")
        with held(taken) as journal:
            yield journal


class RequestJournal:
    """Of a request in the tables that this process holds by a lease."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.lost = threading.Event()
        """Set once another worker has the request: nothing more is written about it."""

    @property
    def attempt(self) -> str | None:
        return self.request.attempt

    def note_attempt(self, name: str) -> None:
        self._held(requests.note_attempt(self.request, name))

    def note_stage(self, record: Record) -> None:
        self._held(requests.note_stage(self.request, record))

    def last_words(self, record: Record, comment: str, line: str) -> None:
        self._held(requests.end(self.request, record, comment, line))

    def told(self) -> None:
        requests.told(self.request.id)

    def taken_back(self, comment: int | None) -> Record | None:
        there = requests.find(self.request.id)
        return there.record if there.taken_back else None

    def _held(self, written: bool) -> None:
        if not written:
            self.lost.set()


@contextmanager
def held(request: Request, seconds: float = requests.LEASE_SECONDS) -> Iterator[RequestJournal]:
    """Renews the lease until the block ends. Ended by this process, or taken by another: then it is lost."""
    journal = RequestJournal(request)
    with renewed(lambda: requests.renew(request, seconds), seconds, str(request.id), journal.lost):
        yield journal
