"""The status comment while a request goes through its stages: one comment, edited in place."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from tileport_bot.driver import Cancelled, Interrupted
from tileport_bot.events import Place
from tileport_bot.github import GitHub, Gone
from tileport_bot.memory import Journal
from tileport_bot.replies import Result, how_it_stands, status_comment
from tileport_bot.status import Record, Stage, read_record
from tileport_bot.writes import once
from tileport_skill.errors import MachineryError

Clock = Callable[[], datetime]
_ASK_SECONDS = 20.0
"""At most so often it is asked, while an agent works, whether somebody took the request back."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def said(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


def last_written(comment: str) -> datetime | None:
    """When a status comment of ours was written, by its own last line."""
    found = re.search(r"<sub>Updated (\d{4}-\d\d-\d\d \d\d:\d\d) UTC\.", comment)
    return datetime.strptime(f"{found[1]} +0000", "%Y-%m-%d %H:%M %z") if found else None


class StatusComment:
    """Keeps `record`, the journal and the comment the same. It is also what the driver tells of its progress."""

    def __init__(
        self,
        github: GitHub,
        place: Place,
        record: Record,
        journal: Journal,
        *,
        now: Clock,
        log: Callable[[str], None],
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.record = record
        self._github = github
        self._place = place
        self._journal = journal
        self._now = now
        self._log = log
        self._stopping = stopping
        self._asked = time.monotonic()
        self._back: Record | None = None
        self._id: int | None = show(github, place, record, self._body(None))

    @property
    def attempt(self) -> str | None:
        return self._journal.attempt

    def begun(self, attempt: str) -> None:
        self._journal.note_attempt(attempt)

    def stage(self, stage: Stage) -> None:
        """Raises `Cancelled` or `Interrupted`. An unwritten comment stops nothing; one stage back is none."""
        if self._taken_back():
            raise Cancelled
        if self._stopping():
            raise Interrupted
        if list(Stage).index(stage) <= list(Stage).index(self.record.stage):
            return
        self.record = replace(self.record, stage=stage)
        self._journal.note_stage(self.record)
        try:
            self._write(self._body(None))
        except MachineryError as error:
            self._log(f"The status comment could not be updated: {error}")

    def stop(self) -> bool:
        """Polled by whoever works; an answer that cannot be had is no."""
        if self._stopping():
            return True
        if self._back is None and time.monotonic() - self._asked > _ASK_SECONDS:
            return self._taken_back()
        return self._back is not None

    def cancelled(self) -> Record | None:
        """The request as it was taken back, if it was."""
        self._taken_back()
        return self._back

    def finish(self, record: Record, result: Result | None) -> None:
        """What is to be said is kept before it is said; one that cannot be said now is said by the sweep."""
        self.record = record
        body = self._body(result)
        self._journal.last_words(record, body, how_it_stands(record, result))
        self._write(body)
        self._journal.told()

    def _taken_back(self) -> bool:
        self._asked = time.monotonic()
        try:
            self._back = self._back or self._journal.taken_back(self._id)
        except MachineryError as error:
            self._log(f"It could not be asked whether this was taken back: {error}")
        if self._back is not None:
            self.record = self._back
        return self._back is not None

    def _write(self, body: str) -> None:
        self._id = show(self._github, self._place, self.record, body, self._id)

    def _body(self, result: Result | None) -> str:
        return status_comment(self.record, updated=said(self._now()), result=result)


def show(github: GitHub, place: Place, record: Record, body: str, id: int | None = None) -> int | None:
    """Makes the status comment say `body`, the one there is or a new one; None where there is no issue to say it in."""
    if not place.issue:
        return None
    if id is not None:
        try:
            github.edit_comment(place.repository, id, body)
            return id
        except Gone:  # somebody deleted it
            pass
    made: list[int] = []

    def create() -> int:
        made.append(github.create_comment(place.repository, place.issue, body))
        return made[-1]

    id = once(lambda: find_status(github, place, record.operator), create)
    if not made:
        github.edit_comment(place.repository, id, body)
    return id


def find_status(github: GitHub, place: Place, operator: str) -> int | None:
    """The comment of ours in this issue that is about `operator`."""
    for comment in github.own_comments(place.repository, place.issue):
        record = read_record(comment.body)
        if record and record.operator == operator:
            return comment.id
    return None
