"""The one database: SQLite in the state folder, or the Postgres that `TILEPORT_DATABASE_URL` names.

DBOS keeps its own tables in it for how far each attempt has come; ours (`ledger.py`, `queue.py`) lie beside them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import sqlalchemy
from sqlalchemy import Connection, Engine, MetaData, event
from sqlalchemy.exc import SQLAlchemyError

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
def transaction() -> Iterator[Connection]:
    """One transaction, one writer at a time on SQLite. Raises `MachineryError` if the database does not answer."""
    try:
        with _engine(database_url() or f"sqlite:///{state_dir() / 'ledger.sqlite'}").begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        where = f"as {URL_VARIABLE} names it" if database_url() else f"in {state_dir()}"
        words = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise MachineryError(f"the database ({where}) does not serve: {words}. Nothing is lost; try again.") from error


@lru_cache(maxsize=8)
def _engine(url: str) -> Engine:
    if url.startswith("sqlite"):
        state_dir().mkdir(parents=True, exist_ok=True)
    engine = sqlalchemy.create_engine(_with_driver(url), connect_args=_connect_args(url), pool_pre_ping=True)
    if url.startswith("sqlite"):
        # The driver's own BEGIN takes no lock, so two could read the same and both write.
        event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    TABLES.create_all(engine)
    return engine


def _with_driver(url: str) -> str:
    """SQLAlchemy's spelling for the Postgres driver that is installed."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1).replace("postgres://", "postgresql+psycopg://", 1)


def _connect_args(url: str) -> dict[str, object]:
    return {"timeout": _BUSY_SECONDS} if url.startswith("sqlite") else {"connect_timeout": _BUSY_SECONDS}
