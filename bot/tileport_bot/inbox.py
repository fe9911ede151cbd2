"""Deliveries as they came in: kept before GitHub is answered, handled one after the other, each once.

Those about one issue are handled in the order they came: a label put on and taken off again must not change places
because GitHub was out of reach in between. The table lies beside the driver's, on SQLite or Postgres.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    and_,
    delete,
    exists,
    func,
    select,
    text,
    update,
)
from sqlalchemy.engine import Connection

from tileport_driver.database import transaction

KEPT_SECONDS = 30 * 24 * 3600.0
"""How long a delivery that was dealt with is remembered; GitHub offers redelivery for three days."""

_INBOX = MetaData(info={"file": "inbox.sqlite"})
"""On SQLite a file of its own: GitHub's answer waits for no request that is being written down."""
_DELIVERIES = Table(
    "tileport_deliveries",
    _INBOX,
    Column("number", Integer, primary_key=True),
    Column("id", String(200), unique=True, nullable=False),
    Column("event", String(100), nullable=False),
    Column("about", String(300), index=True, nullable=False),
    Column("body", Text, nullable=False),
    Column("received", Float, nullable=False),
    Column("state", String(20), index=True, nullable=False),
    Column("due", Float, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("line", Text),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event as it came."""

    id: str
    """GitHub's `X-GitHub-Delivery`: the same when a delivery is made again."""
    event: str
    about: str
    """`owner/name#12`: what keeps its order."""
    body: str


class Waiting(NamedTuple):
    number: int
    delivery: Delivery
    tries: int
    """How often it was tried and put off."""

    @property
    def repository(self) -> str:
        return self.delivery.about.partition("#")[0]

    def payload(self) -> Any:
        return json.loads(self.delivery.body)


class Done(NamedTuple):
    """One line of the status page."""

    id: str
    event: str
    about: str
    received: float
    line: str


def keep(deliveries: Sequence[Delivery], now: float) -> None:
    """All of them in one transaction; those that are there already change nothing."""
    with transaction(_INBOX) as connection:
        rows = [
            {"id": d.id, "event": d.event, "about": d.about, "body": d.body}
            | {"received": now, "state": "waiting", "due": now, "tries": 0}
            for d in {d.id: d for d in deliveries}.values()
        ]
        connection.execute(_insert(connection).on_conflict_do_nothing(index_elements=["id"]), rows)


CODE_EVENTS = ("pull_request", "push")
"""Whose handling builds and compares, which takes minutes: conversations do not wait behind them."""


def next_waiting(now: float, *, code: bool = False) -> Waiting | None:
    """The oldest that is due and has no earlier one about the same issue before it; events about `code`, or others."""
    earlier = _DELIVERIES.alias()
    blocked = exists().where(
        earlier.c.about == _DELIVERIES.c.about,
        earlier.c.number < _DELIVERIES.c.number,
        earlier.c.state == "waiting",
        earlier.c.event.in_(CODE_EVENTS) if code else earlier.c.event.not_in(CODE_EVENTS),
    )
    kind = _DELIVERIES.c.event.in_(CODE_EVENTS) if code else _DELIVERIES.c.event.not_in(CODE_EVENTS)
    ready = and_(_DELIVERIES.c.state == "waiting", _DELIVERIES.c.due <= now, kind, ~blocked)
    with transaction(_INBOX, reads=True) as connection:
        row = connection.execute(select(_DELIVERIES).where(ready).order_by(_DELIVERIES.c.number).limit(1)).first()
    if row is None:
        return None
    delivery = Delivery(id=row.id, event=row.event, about=row.about, body=row.body)
    return Waiting(row.number, delivery, row.tries)


def done(waiting: Waiting, line: str) -> None:
    """Dealt with; its text is dropped, its id stays so that the same delivery is known again."""
    _set(waiting, state="done", line=line[:2000], body="")


def put_off(waiting: Waiting, until: float, why: str) -> None:
    _set(waiting, due=until, tries=waiting.tries + 1, line=why[:2000])


def forget(before: float) -> int:
    """Removes what was dealt with long ago."""
    with transaction(_INBOX) as connection:
        old = delete(_DELIVERIES).where(_DELIVERIES.c.state == "done", _DELIVERIES.c.received < before)
        return connection.execute(old).rowcount


def count_waiting() -> int:
    with transaction(_INBOX, reads=True) as connection:
        waiting = select(func.count()).select_from(_DELIVERIES).where(_DELIVERIES.c.state == "waiting")
        return int(connection.execute(waiting).scalar_one())


def newest(count: int) -> tuple[Done, ...]:
    """What came in last, newest first."""
    wanted = select(_DELIVERIES).order_by(_DELIVERIES.c.number.desc()).limit(count)
    with transaction(_INBOX, reads=True) as connection:
        rows = connection.execute(wanted).all()
    return tuple(Done(row.id, row.event, row.about, row.received, row.line or "waiting") for row in rows)


def answers() -> None:
    """Raises `MachineryError` if the database does not."""
    with transaction(_INBOX) as connection:
        connection.execute(text("select 1"))


def _set(waiting: Waiting, **values: object) -> None:
    with transaction(_INBOX) as connection:
        connection.execute(update(_DELIVERIES).where(_DELIVERIES.c.number == waiting.number).values(**values))


def _insert(connection: Connection) -> Any:
    """The dialect's own insert, which knows what to do about a row that is there already."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(_DELIVERIES)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(_DELIVERIES)
