"""The requests of a bot that has a database: entered once, held by a lease while they are worked on, ended once.

A repository, an operator and the hash of its reference have one request at a time, whatever asked for it and however
often. What is to be said at the end is kept before it is said, so that a bot that is killed in between still says it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import TypeAdapter
from sqlalchemy import Boolean, Column, Float, Index, Integer, String, Table, Text, and_, insert, or_, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from tileport_bot.events import Place
from tileport_bot.status import Record
from tileport_driver.database import TABLES, lease_clock, now_of, transaction

LEASE_SECONDS = 60.0
_READY_SECONDS = 30.0
"""How long a new request waits for its comment to stand in the issue before a worker takes it without."""

_REQUESTS = Table(
    "tileport_requests",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("key", String(700), nullable=False),
    Column("repository", String(300), nullable=False, index=True),
    Column("operator", String(200), nullable=False),
    Column("issue", Integer, nullable=False),
    Column("place", Text, nullable=False),
    Column("record", Text, nullable=False),
    Column("state", String(20), nullable=False, index=True),
    Column("taken_back", Boolean, nullable=False, default=False),
    Column("attempt", String(200)),
    Column("last_words", Text),
    Column("told", Boolean, nullable=False, default=False),
    Column("asked", Float, nullable=False),
    Column("changed", Float, nullable=False),
    Column("due", Float, nullable=False),
    Column("tries", Integer, nullable=False, default=0),
    Column("worker", String(200)),
    Column("fence", Integer, nullable=False, default=0),
    Column("alive_until", Float),
)
_ACTIVE = _REQUESTS.c.state != "ended"
Index("tileport_requests_one", _REQUESTS.c.key, unique=True, sqlite_where=_ACTIVE, postgresql_where=_ACTIVE)

_LOG = Table(
    "tileport_request_log",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("request", Integer, nullable=False, index=True),
    Column("at", Float, nullable=False),
    Column("line", Text, nullable=False),
)

_PLACE, _RECORD = TypeAdapter(Place), TypeAdapter(Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it stands."""

    id: int
    place: Place
    record: Record
    state: Literal["waiting", "working", "ended"]
    taken_back: bool
    """Somebody took it back; whoever works on it stops."""
    attempt: str | None
    """The driver's attempt that serves it."""
    last_words: str | None
    """The final comment, from the moment it is known."""
    told: bool
    """Whether the final comment stands in the issue."""
    asked: float
    changed: float
    tries: int
    worker: str | None
    fence: int


def enter(place: Place, record: Record) -> tuple[Request, bool]:
    """The request that is active for this operator and reference, and whether it is new."""
    key = _key(place, record)
    values = {
        "key": key,
        "repository": place.repository,
        "operator": record.operator,
        "issue": place.issue,
        "place": json.dumps(asdict(place)),
        "record": json.dumps(asdict(record)),
        "state": "waiting",
    }
    try:
        with transaction(integrity=True) as connection:
            now = now_of(connection)
            done = connection.execute(
                insert(_REQUESTS).values(**values, asked=now, changed=now, due=now + _READY_SECONDS)
            )
            id = int(done.inserted_primary_key[0])  # type: ignore[index]
            _log(connection, id, f"asked for by {record.asked_by} in #{place.issue}")
        return find(id), True
    except IntegrityError:
        with transaction() as connection:
            row = connection.execute(select(_REQUESTS).where(_REQUESTS.c.key == key, _ACTIVE)).mappings().first()
        return (_request(row), False) if row is not None else enter(place, record)


def find(id: int) -> Request:
    with transaction(reads=True) as connection:
        return _request(connection.execute(select(_REQUESTS).where(_REQUESTS.c.id == id)).mappings().one())


def ready(place: Place, record: Record) -> None:
    """The comment of a new request stands: it may be taken."""
    with transaction() as connection:
        mine = and_(_REQUESTS.c.key == _key(place, record), _REQUESTS.c.state == "waiting")
        connection.execute(update(_REQUESTS).where(mine).values(due=now_of(connection)))


def look(id: int) -> Request | None:
    """None for a number that no request has."""
    found = _select(_REQUESTS.c.id == id)
    return found[0] if found else None


def take(worker: str, seconds: float = LEASE_SECONDS, id: int | None = None) -> Request | None:
    """The oldest that waits, or whose worker let its lease run out; only the one with `id` if that is given."""
    with transaction() as connection:
        now = now_of(connection)
        due = _REQUESTS.c.due <= now
        waits = _REQUESTS.c.state == "waiting" if id is not None else and_(_REQUESTS.c.state == "waiting", due)
        clock = lease_clock(connection)
        left = and_(_REQUESTS.c.state == "working", _REQUESTS.c.alive_until < clock)
        found = select(_REQUESTS).where(or_(waits, left)).order_by(_REQUESTS.c.id).limit(1)
        if id is not None:
            found = found.where(_REQUESTS.c.id == id)
        row = connection.execute(found.with_for_update(skip_locked=True)).mappings().first()
        if row is None:
            return None
        values = {"state": "working", "worker": worker, "fence": row["fence"] + 1, "alive_until": clock + seconds}
        connection.execute(update(_REQUESTS).where(_REQUESTS.c.id == row["id"]).values(**values))
        return _request({**row, **values})


def renew(request: Request, seconds: float = LEASE_SECONDS) -> bool:
    """False once another worker has it."""
    return _change(request, alive_until=seconds)


def put_back(request: Request, after: float = 0.0, why: str = "", *, tried: bool = False) -> bool:
    """It waits again, for at least `after` seconds; whoever takes it goes on with its attempt."""
    return _change(request, why or None, state="waiting", alive_until=None, due=after, tries=request.tries + tried)


def release_dead(is_dead: Callable[[str], bool]) -> int:
    """Lets go of what workers held that are known to be gone, without waiting for their leases."""
    with transaction(reads=True) as connection:
        held = select(_REQUESTS.c.worker).where(_REQUESTS.c.state == "working").distinct()
        dead = [worker for worker in connection.execute(held).scalars() if is_dead(worker or "")]
    if not dead:
        return 0
    with transaction() as connection:
        gone = update(_REQUESTS).where(_REQUESTS.c.worker.in_(dead), _REQUESTS.c.state == "working")
        return connection.execute(gone.values(state="waiting", alive_until=None)).rowcount


def note_attempt(request: Request, attempt: str) -> bool:
    return _change(request, f"attempt {attempt}", attempt=attempt)


def note_stage(request: Request, record: Record) -> bool:
    return _change(request, str(record.stage), record=json.dumps(asdict(record)))


def end(request: Request, record: Record, last_words: str, line: str) -> bool:
    """Its end, with what is still to be said about it."""
    values = {"state": "ended", "record": json.dumps(asdict(record)), "last_words": last_words, "alive_until": None}
    return _change(request, line, **values)


def take_back(id: int, record: Record, last_words: str) -> Request:
    """Ends one that waits; tells the worker of one that is worked on."""
    with transaction() as connection:
        mine = update(_REQUESTS).where(_REQUESTS.c.id == id, _ACTIVE)
        said = {"record": json.dumps(asdict(record)), "last_words": last_words, "changed": now_of(connection)}
        connection.execute(mine.values(taken_back=True, **said))
        connection.execute(mine.where(_REQUESTS.c.state == "waiting").values(state="ended"))
        _log(connection, id, "taken back")
    return find(id)


def is_taken_back(id: int) -> bool:
    with transaction(reads=True) as connection:
        return bool(connection.execute(select(_REQUESTS.c.taken_back).where(_REQUESTS.c.id == id)).scalar_one())


def told(id: int) -> None:
    with transaction() as connection:
        connection.execute(update(_REQUESTS).where(_REQUESTS.c.id == id).values(told=True))


def unproved() -> tuple[Request, ...]:
    """Those whose newest attempt was delivered with a gate still open."""
    found = _select(
        _REQUESTS.c.state == "ended", _REQUESTS.c.attempt.is_not(None), _REQUESTS.c.record.like("%: unproved%")
    )
    return tuple(request for request in found if request.record.history[-1].endswith(": unproved"))


def judged(request: Request, record: Record, last_words: str, line: str) -> None:
    """What a machine with a GPU found of a request that had ended, with what is to be said of it."""
    said = {"record": json.dumps(asdict(record)), "last_words": last_words, "told": False}
    with transaction() as connection:
        ended = update(_REQUESTS).where(_REQUESTS.c.id == request.id, _REQUESTS.c.state == "ended")
        connection.execute(ended.values(**said, changed=now_of(connection)))
        _log(connection, request.id, line)


def log_lines(id: int) -> tuple[tuple[float, str], ...]:
    with transaction(reads=True) as connection:
        rows = connection.execute(select(_LOG.c.at, _LOG.c.line).where(_LOG.c.request == id).order_by(_LOG.c.id))
        return tuple((float(row.at), str(row.line)) for row in rows)


def of_issue(repository: str, issue: int) -> tuple[Request, ...]:
    """The newest request of each operator of an issue, in the order they were asked."""
    rows = _select(_REQUESTS.c.repository == repository, _REQUESTS.c.issue == issue)
    return tuple({request.record.operator: request for request in rows}.values())


def untold(seconds: float = 30.0) -> tuple[Request, ...]:
    """What ended at least so long ago and was not said."""
    with transaction(reads=True) as connection:
        since = now_of(connection) - seconds
    return _select(_REQUESTS.c.state == "ended", _REQUESTS.c.told.is_(False), _REQUESTS.c.changed <= since)


def newest(count: int) -> tuple[Request, ...]:
    with transaction(reads=True) as connection:
        wanted = select(_REQUESTS).order_by(_ACTIVE.desc(), _REQUESTS.c.id.desc()).limit(count)
        return tuple(_request(row) for row in connection.execute(wanted).mappings())


def _select(*conditions: Any) -> tuple[Request, ...]:
    with transaction(reads=True) as connection:
        wanted = select(_REQUESTS).where(*conditions).order_by(_REQUESTS.c.id)
        return tuple(_request(row) for row in connection.execute(wanted).mappings())


def _change(request: Request, line: str | None = None, **values: object) -> bool:
    """By the worker that holds it; False, and nothing is written, once another does. Times are seconds from now."""
    with transaction() as connection:
        now = now_of(connection)
        for name, clock in (("alive_until", lease_clock(connection)), ("due", now)):
            if values.get(name) is not None:
                values[name] = clock + float(str(values[name]))
        held = and_(_REQUESTS.c.id == request.id, _REQUESTS.c.fence == request.fence, _REQUESTS.c.state == "working")
        changed = connection.execute(update(_REQUESTS).where(held).values(changed=now, **values)).rowcount == 1
        if changed and line:
            _log(connection, request.id, line)
        return changed


def _key(place: Place, record: Record) -> str:
    return f"{place.repository}|{record.operator}|{record.reference}"


def _log(connection: Connection, id: int, line: str) -> None:
    connection.execute(insert(_LOG).values(request=id, at=now_of(connection), line=line[:2000]))


def _request(row: Any) -> Request:
    names = ("id", "state", "taken_back", "attempt", "last_words", "told", "asked", "changed", "tries", "worker")
    kept = {name: row[name] for name in (*names, "fence")}
    return Request(place=_PLACE.validate_json(row["place"]), record=_RECORD.validate_json(row["record"]), **kept)
