"""The queues: what is to be ported (`agents`) and what waits for a GPU to judge it (`gpu`), with leases.

A worker holds a job by a lease that it renews. One that dies or hangs stops renewing; the next worker takes the job
with a higher fence, and whatever the late one still wants to write about it is refused, as its fence is the lower.

What failed for reasons of the machine it was tried on is set back: it waits for a while, each time for longer.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

from sqlalchemy import (
    Column,
    Connection,
    Float,
    Integer,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from tileport_driver.database import TABLES, lease_clock, transaction
from tileport_driver.records import PortRequest
from tileport_driver.store import request_from

QueueName = Literal["agents", "gpu"]
LEASE_SECONDS = 60.0
FIRST_SETBACK, LONGEST_SETBACK, SOON = 60.0, 3600.0, 30.0

_JOBS = Table(
    "tileport_jobs",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("queue", String(20), nullable=False),
    Column("key", String(700), nullable=False, index=True),
    Column("request", Text, nullable=False),
    Column("attempt", String(200)),
    Column("state", String(20), nullable=False),
    Column("worker", String(200)),
    Column("fence", Integer, nullable=False, default=0),
    Column("alive_until", Float),
    Column("result", String(40)),
    Column("why", Text),
)
_SETBACKS = Table(
    "tileport_setbacks",
    TABLES,
    Column("job", Integer, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("until", Float, nullable=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job as it stands."""

    id: int
    queue: QueueName
    request: PortRequest
    attempt: str | None
    state: Literal["waiting", "working", "ended"]
    worker: str | None
    fence: int
    result: str | None
    why: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A worker's hold on a job."""

    job: Job
    previous_worker: str | None
    """Who held it and let its lease run out."""


def submit(request: PortRequest, queue: QueueName = "agents", attempt: str | None = None) -> int:
    """Enters a job, or finds the one there is of the same request that has not ended."""
    with transaction() as connection:
        return _enter(connection, request, queue, attempt)


def _enter(connection: Connection, request: PortRequest, queue: QueueName, attempt: str | None) -> int:
    key = f"{queue}|{attempt or ''}|{request.repository}|{request.operator}|{request.reference_hash}|{request.engine}"
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(key, 0))))
    there = connection.execute(select(_JOBS.c.id).where(_JOBS.c.key == key, _JOBS.c.state != "ended")).scalar()
    if there is not None:
        return int(there)
    values = {"queue": queue, "key": key, "request": json.dumps(asdict(request)), "attempt": attempt}
    done = connection.execute(insert(_JOBS).values(**values, state="waiting", fence=0))
    return int(done.inserted_primary_key[0])  # type: ignore[index]


def take(queue: QueueName, worker: str, seconds: float = LEASE_SECONDS) -> Lease | None:
    """The oldest job that waits, or whose worker let its lease run out; None if there is neither."""
    with transaction() as connection:
        now = lease_clock(connection)
        waits = and_(_JOBS.c.state == "waiting", _JOBS.c.id.not_in(_set_back_at(now)))
        free = or_(waits, and_(_JOBS.c.state == "working", _JOBS.c.alive_until < now))
        found = select(_JOBS).where(_JOBS.c.queue == queue, free).order_by(_JOBS.c.id).limit(1)
        row = connection.execute(found.with_for_update(skip_locked=True)).mappings().first()
        if row is None:
            return None
        values = {"state": "working", "worker": worker, "fence": row["fence"] + 1, "alive_until": now + seconds}
        connection.execute(update(_JOBS).where(_JOBS.c.id == row["id"]).values(**values))
        return Lease(job=_job({**row, **values}), previous_worker=row["worker"])


def renew(lease: Lease, seconds: float = LEASE_SECONDS) -> bool:
    """False once another worker has the job."""
    with transaction() as connection:
        done = connection.execute(_held(lease).values(alive_until=lease_clock(connection) + seconds))
        return done.rowcount == 1


def note_attempt(lease: Lease, attempt: str) -> bool:
    """Writes down which attempt serves the job; False once another worker has it."""
    with transaction() as connection:
        return connection.execute(_held(lease).values(attempt=attempt)).rowcount == 1


def finish(lease: Lease, result: str, why: str = "", for_gpu: str | None = None) -> bool:
    """The job's end; False, and nothing is written, once another worker has it.

    With `for_gpu` that attempt waits for a GPU from the same moment on: a worker killed between the two would lose it.
    """
    with transaction() as connection:
        done = connection.execute(_held(lease).values(state="ended", result=result, why=why, alive_until=None))
        if done.rowcount == 1 and for_gpu is not None:
            _enter(connection, lease.job.request, "gpu", for_gpu)
        return done.rowcount == 1


def put_back(lease: Lease) -> bool:
    """The job waits again, for whoever comes first."""
    with transaction() as connection:
        return connection.execute(_held(lease).values(state="waiting", alive_until=None)).rowcount == 1


def set_back(lease: Lease, why: str, first: float = FIRST_SETBACK) -> int:
    """The job waits again, but not for whoever comes first: for `first` seconds, and twice as long each further time.

    Gives how often it was set back, with this time; 0, and nothing is written, once another worker has it.
    """
    with transaction() as connection:
        if connection.execute(_held(lease).values(state="waiting", alive_until=None, why=why)).rowcount != 1:
            return 0
        mine = _SETBACKS.c.job == lease.job.id
        count = (connection.execute(select(_SETBACKS.c["count"]).where(mine)).scalar() or 0) + 1
        seconds = min(first * 2 ** min(count - 1, 20), LONGEST_SETBACK)
        connection.execute(delete(_SETBACKS).where(mine))
        until = lease_clock(connection) + seconds
        connection.execute(insert(_SETBACKS).values(job=lease.job.id, count=count, until=until))
        return count


def give_up(job: int, result: str) -> bool:
    """Ends a job that waits, why as it stands; False where it does not wait any more."""
    with transaction() as connection:
        waits = and_(_JOBS.c.id == job, _JOBS.c.state == "waiting")
        return connection.execute(update(_JOBS).where(waits).values(state="ended", result=result)).rowcount == 1


def unfinished(queue: QueueName) -> bool:
    """Whether somebody has a job of that queue, or could have one soon; what is set back for longer is for later."""
    with transaction() as connection:
        left = and_(_JOBS.c.queue == queue, _JOBS.c.state != "ended")
        now = _JOBS.c.id.not_in(_set_back_at(lease_clock(connection) + SOON))
        return connection.execute(select(_JOBS.c.id).where(left, now).limit(1)).first() is not None


def all_jobs() -> tuple[Job, ...]:
    """Every job, oldest first."""
    with transaction(reads=True) as connection:
        return tuple(_job(dict(row)) for row in connection.execute(select(_JOBS).order_by(_JOBS.c.id)).mappings())


def _set_back_at(now: float):  # type: ignore[no-untyped-def]
    return select(_SETBACKS.c.job).where(_SETBACKS.c.until > now)


def _held(lease: Lease):  # type: ignore[no-untyped-def]  # SQLAlchemy's own type is generic over nothing
    job = lease.job
    return update(_JOBS).where(_JOBS.c.id == job.id, _JOBS.c.fence == job.fence, _JOBS.c.state == "working")


def _job(row: dict[str, object]) -> Job:
    kept = {name: row[name] for name in ("id", "queue", "attempt", "state", "worker", "fence", "result", "why")}
    return Job(request=request_from(str(row["request"])), **kept)  # type: ignore[arg-type]
