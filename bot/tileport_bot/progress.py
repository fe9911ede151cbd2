"""The status comment while a request goes through its stages: one comment, edited in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from tileport_bot.driver import Cancelled
from tileport_bot.events import Place
from tileport_bot.github import GitHub
from tileport_bot.replies import Result, status_comment
from tileport_bot.status import Record, Stage, read_record
from tileport_skill.errors import MachineryError

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


def said(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


class StatusComment:
    """Keeps `record` and the comment that shows it the same."""

    def __init__(self, github: GitHub, place: Place, record: Record, *, now: Clock, log: Callable[[str], None]) -> None:
        self.record = record
        self._github = github
        self._repository = place.repository
        self._now = now
        self._log = log
        body = self._body(None)
        before = find_status(github, place, record.operator)
        if before is None:
            self._id = github.create_comment(place.repository, place.issue, body)
        else:
            self._id = before
            github.edit_comment(place.repository, before, body)

    def advance(self, stage: Stage) -> None:
        """Raises `Cancelled` if the request was taken back. An unwritten comment stops nothing."""
        try:
            there = read_record(self._github.read_comment(self._repository, self._id))
            if there and there.stage is Stage.CANCELLED:
                self.record = there
                raise Cancelled
            self._show(replace(self.record, stage=stage), None)
        except MachineryError as error:
            self.record = replace(self.record, stage=stage)
            self._log(f"The status comment could not be updated: {error}")

    def finish(self, record: Record, result: Result | None) -> None:
        self._show(record, result)

    def _show(self, record: Record, result: Result | None) -> None:
        self.record = record
        self._github.edit_comment(self._repository, self._id, self._body(result))

    def _body(self, result: Result | None) -> str:
        return status_comment(self.record, updated=said(self._now()), result=result)


def find_status(github: GitHub, place: Place, operator: str) -> int | None:
    """The comment of ours in this issue that is about `operator`."""
    for comment in github.own_comments(place.repository, place.issue):
        record = read_record(comment.body)
        if record and record.operator == operator:
            return comment.id
    return None
