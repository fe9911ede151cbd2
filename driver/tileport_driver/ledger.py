"""How many attempts an operator has had, and whether it may have another.

An attempt belongs to repository, operator, hash of the reference, and engine. It is spent when an agent came to its end
and its port was judged; what our machinery broke, what was refused and what could not be proved costs nothing. Neither
a restart nor a new commit that leaves the reference alone changes the count; a maintainer may grant one more.

What a model wrote and no GPU has judged yet waits, and no other is begun meanwhile: asked for again and again it would
be paid for again and again. A script and a program give the same once more and cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Integer,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    select,
    update,
)

from tileport_driver.database import TABLES, transaction
from tileport_driver.records import EngineName, NotPorted, Outcome, Ported, PortRequest, Unproved
from tileport_skill.errors import RequestError

MAX_ATTEMPTS = 2

_ATTEMPTS = Table(
    "tileport_attempts",
    TABLES,
    Column("attempt", String(200), primary_key=True),
    Column("request", String(600), index=True, nullable=False),
    Column("number", Integer, nullable=False),
    Column("begun", String(40), nullable=False),
    Column("ended", String(40)),
    Column("spent", Boolean, nullable=False, default=False),
    Column("diagnosis", Text),
)
_WAITING = Table(
    "tileport_waiting",
    TABLES,
    Column("request", String(600), primary_key=True),
    Column("attempt", String(200), nullable=False),
)
_GRANTS = Table(
    "tileport_grants",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("request", String(600), index=True, nullable=False),
    Column("by", String(200), nullable=False),
    Column("why", Text, nullable=False),
    Column("at", String(40), nullable=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A new attempt may begin: its number, and the one it starts from."""

    number: int
    previous: str | None = None
    diagnosis: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """One of the same request has not ended: it is gone on with, no second one begins."""

    attempt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One of the same request waits for a GPU's judgement, which decides whether there is to be another."""

    attempt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    by: str
    why: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One request's attempts as the ledger has them."""

    spent: int
    allowed: int
    grants: tuple[Grant, ...]


def request_key(request: PortRequest) -> str:
    """What a request is, whatever the commit and however often it is asked."""
    return f"{request.repository}\0{request.operator}\0{request.reference_hash}\0{request.engine}".replace("\0", "|")


def begin(request: PortRequest, attempt: str) -> Begun | Unfinished | Waiting:
    """Enters `attempt` as begun, unless one is unfinished or waits. Raises `RequestError` when all are spent."""
    key = request_key(request)
    with transaction() as connection:
        _one_at_a_time(connection, key)
        open_one = connection.execute(
            select(_ATTEMPTS.c.attempt).where(_ATTEMPTS.c.request == key, _ATTEMPTS.c.ended.is_(None))
        ).scalar()
        if open_one is not None:
            return Unfinished(attempt=open_one)
        waits = connection.execute(select(_WAITING.c.attempt).where(_WAITING.c.request == key)).scalar()
        if waits is not None:
            return Waiting(attempt=waits)
        account = _account(connection, key)
        if account.spent >= account.allowed:
            raise RequestError(_all_spent(request.operator, account))
        last = connection.execute(
            select(_ATTEMPTS.c.attempt, _ATTEMPTS.c.diagnosis)
            .where(and_(_ATTEMPTS.c.request == key, _ATTEMPTS.c.spent))
            .order_by(_ATTEMPTS.c.ended.desc())
        ).first()
        number = account.spent + 1
        connection.execute(insert(_ATTEMPTS).values(attempt=attempt, request=key, number=number, begun=_now()))
        return Begun(number=number, previous=last[0] if last else None, diagnosis=(last[1] or "") if last else "")


def end(attempt: str, outcome: Outcome, engine: EngineName = "anthropic") -> None:
    """Enters how an attempt ended; again is fine. One that is not in the ledger is left alone."""
    with transaction() as connection:
        first = update(_ATTEMPTS).where(_ATTEMPTS.c.attempt == attempt, _ATTEMPTS.c.ended.is_(None))
        done = connection.execute(first.values(ended=_now(), **_entry(outcome, engine)))
        if done.rowcount and isinstance(outcome, Unproved) and engine == "anthropic":
            request = select(_ATTEMPTS.c.request).where(_ATTEMPTS.c.attempt == attempt).scalar_subquery()
            connection.execute(insert(_WAITING).values(request=request, attempt=attempt))


def settle(attempt: str, outcome: Outcome, engine: EngineName) -> None:
    """Enters what a GPU's judgement made of an attempt that had ended unproved; unproved still, it waits on."""
    with transaction() as connection:
        if not isinstance(outcome, Unproved):
            connection.execute(delete(_WAITING).where(_WAITING.c.attempt == attempt))
        connection.execute(update(_ATTEMPTS).where(_ATTEMPTS.c.attempt == attempt).values(**_entry(outcome, engine)))


def _entry(outcome: Outcome, engine: EngineName) -> dict[str, object]:
    # A program drafts the same port each time: there is nothing to ration.
    spent = isinstance(outcome, NotPorted | Ported) and engine != "none"
    return {"spent": spent, "diagnosis": "\n".join(outcome.reasons) if isinstance(outcome, NotPorted) else None}


def grant(request: PortRequest, by: str, why: str) -> Account:
    """One more attempt, on the record, also in place of one that waits. Raises `RequestError` where none is needed."""
    key = request_key(request)
    with transaction() as connection:
        _one_at_a_time(connection, key)
        account = _account(connection, key)
        waited = connection.execute(delete(_WAITING).where(_WAITING.c.request == key)).rowcount
        if account.spent < account.allowed and not waited:
            left = account.allowed - account.spent
            raise RequestError(f"{request.operator} has {left} of {account.allowed} attempts left; none is granted.")
        connection.execute(insert(_GRANTS).values(request=key, by=by, why=why, at=_now()))
        return _account(connection, key)


def account(request: PortRequest) -> Account:
    with transaction() as connection:
        return _account(connection, request_key(request))


def _account(connection: Connection, key: str) -> Account:
    spent = connection.execute(
        select(func.count()).select_from(_ATTEMPTS).where(_ATTEMPTS.c.request == key, _ATTEMPTS.c.spent)
    ).scalar_one()
    rows = connection.execute(select(_GRANTS.c.by, _GRANTS.c.why, _GRANTS.c.at).where(_GRANTS.c.request == key)).all()
    grants = tuple(Grant(by=by, why=why, at=at) for by, why, at in rows)
    return Account(spent=spent, allowed=MAX_ATTEMPTS + len(grants), grants=grants)


def _one_at_a_time(connection: Connection, key: str) -> None:
    """Until the transaction ends nobody else decides about this request; on SQLite nobody else writes anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(key, 0))))


def _all_spent(operator: str, account: Account) -> str:
    return (
        f"All {account.allowed} attempts at {operator} are spent, and its reference has not changed since. "
        f"Look at what they left (`tileport show {operator}`), change the reference, or have a maintainer grant one "
        f"more: tileport grant {operator} --why WHY"
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
