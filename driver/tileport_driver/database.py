"""The one database: SQLite in the state folder, or the Postgres that `TILEPORT_DATABASE_URL` names.

DBOS keeps its own tables in it for how far each attempt has come; ours (`ledger.py`, `jobs.py`, and the bot's) lie
beside them, on SQLite in a file of their own.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import sqlalchemy
from sqlalchemy import Connection, Engine, MetaData, event, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tileport_driver.host.paths import state_dir
from tileport_skill.errors import MachineryError

URL_VARIABLE = "TILEPORT_DATABASE_URL"
TABLES = MetaData()
_BUSY_SECONDS = 30


def database_url() -> str | None:
    """Of the Postgres that several machines share; None for SQLite."""
    return os.environ.get(URL_VARIABLE) or None


def progress_url() -> str:
    """Where DBOS keeps its tables."""
    return database_url() or f"sqlite:///{state_dir() / 'progress.sqlite'}"


@contextmanager
def transaction(*, integrity: bool = False) -> Iterator[Connection]:
    """One transaction, one writer at a time on SQLite. Raises `MachineryError` if the database does not answer.

    With `integrity` a broken constraint is the caller's business and comes as SQLAlchemy's `IntegrityError`.
    """
    try:
        with _engine(database_url() or f"sqlite:///{state_dir() / 'ledger.sqlite'}").begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        if integrity and isinstance(error, IntegrityError):
            raise
        where = f"as {URL_VARIABLE} names it" if database_url() else f"in {state_dir()}"
        words = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise MachineryError(f"the database ({where}) does not serve: {words}. Nothing is lost; try again.") from error


def now_of(connection: Connection) -> float:
    """The database's clock where machines share one, since theirs need not agree."""
    if connection.dialect.name == "postgresql":
        return float(connection.execute(text("select extract(epoch from clock_timestamp())")).scalar_one())
    return time.time()


@lru_cache(maxsize=8)
def _engine(url: str) -> Engine:
    if url.startswith("sqlite"):
        state_dir().mkdir(parents=True, exist_ok=True)
    engine = sqlalchemy.create_engine(_with_driver(url), connect_args=_connect_args(url), pool_pre_ping=True)
    if url.startswith("sqlite"):
        # The driver's own BEGIN takes no lock, so two could read the same and both write.
        event.listen(engine, "connect", lambda raw, _: _prepare(raw))
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    TABLES.create_all(engine)
    return engine


def _prepare(raw: sqlite3.Connection) -> None:
    """Readers do not wait for the writer, and what was committed is on the disk."""
    raw.isolation_level = None
    raw.execute("PRAGMA journal_mode=WAL")
    raw.execute("PRAGMA synchronous=FULL")


def _with_driver(url: str) -> str:
    """SQLAlchemy's spelling for the Postgres driver that is installed."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1).replace("postgres://", "postgresql+psycopg://", 1)


def _connect_args(url: str) -> dict[str, object]:
    return {"timeout": _BUSY_SECONDS} if url.startswith("sqlite") else {"connect_timeout": _BUSY_SECONDS}
