"""The one database: SQLite in the state folder, or the Postgres that `TILEPORT_DATABASE_URL` names.

DBOS keeps its own tables in it for how far each attempt has come; ours (`ledger.py`, `jobs.py`, and the bot's) lie
beside them, on SQLite in a file of their own.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import sqlalchemy
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    RootTransaction,
    String,
    Table,
    event,
    func,
    insert,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError, OperationalError, SQLAlchemyError

from tileport_driver import lock_holder
from tileport_driver.host.paths import state_dir
from tileport_driver.host.processes import process_state
from tileport_skill.errors import MachineryError

URL_VARIABLE = "TILEPORT_DATABASE_URL"
TABLES = MetaData(info={"file": "ledger.sqlite"})
BUSY_SECONDS = 30
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_BETWEEN_BOOTS = 1e9
"""Seconds; no machine runs for so long."""
_BEHIND_ALL_DATES = 1e10
"""So that a lease which an earlier version kept by the date has run out too, and is not kept for years."""
_BOOTS = Table(
    "tileport_boots",
    TABLES,
    Column("number", Integer, primary_key=True),
    Column("boot", String(40), unique=True, nullable=False),
)
_READS = "tileport_reads"
_SERVER_OPTIONS = f"-c idle_in_transaction_session_timeout={BUSY_SECONDS * 1000}"
"""A worker that hangs or whose machine is gone in the middle of a transaction would keep its job's row for ever."""
_MAKING_TABLES = 0x7169
_WAL_WRITE_LOCK = 120
"""The byte of its index of the log that SQLite's one writer locks, see "WAL-mode file format"."""


def database_url() -> str | None:
    """Of the Postgres that several machines share; None for SQLite."""
    return os.environ.get(URL_VARIABLE) or None


def progress_url() -> str:
    """Where DBOS keeps its tables."""
    url = database_url()
    if url is None:
        return f"sqlite:///{state_dir() / 'progress.sqlite'}"
    if "options=" in url:
        return url
    return make_url(url).update_query_dict({"options": _SERVER_OPTIONS}).render_as_string(hide_password=False)


@contextmanager
def transaction(tables: MetaData = TABLES, *, integrity: bool = False, reads: bool = False) -> Iterator[Connection]:
    """One transaction, one writer at a time on SQLite. Raises `MachineryError` if the database does not answer.

    With `integrity` a broken constraint is the caller's business and comes as SQLAlchemy's `IntegrityError`. One that
    only `reads` waits for no writer on SQLite, and no writer for it. On SQLite tables of another kind may have a file,
    and so a writer, of their own.
    """
    file = state_dir() / tables.info["file"]
    url, options = database_url() or f"sqlite:///{file}", {_READS: reads}
    try:
        with _engine(url, tables, file).connect().execution_options(**options) as connection, _begin(connection, file):
            yield connection
    except SQLAlchemyError as error:
        if integrity and isinstance(error, IntegrityError):
            raise
        where = f"as {URL_VARIABLE} names it" if database_url() else f"in {state_dir()}"
        words = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise MachineryError(f"the database ({where}) does not serve: {words}. Nothing is lost; try again.") from error


def _begin(connection: Connection, file: Path) -> RootTransaction:
    """On SQLite a stopped process that is in a transaction of its own is woken, or nobody would be served again."""
    try:
        return connection.begin()
    except OperationalError:
        if connection.dialect.name != "sqlite" or not wake_holder(file):
            raise
        return connection.begin()


def wake_holder(database: Path) -> bool:
    """Whether the process that is writing to the SQLite file was stopped; it goes on then, and lets the lock go."""
    command = [sys.executable, "-m", lock_holder.__name__, f"{database}-shm", str(_WAL_WRITE_LOCK)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not said or process_state(int(said)) != "T":
        return False
    with suppress(ProcessLookupError):
        os.kill(int(said), signal.SIGCONT)
    return True


def now_of(connection: Connection) -> float:
    """The database's clock where machines share one, since theirs need not agree."""
    if connection.dialect.name == "postgresql":
        return float(connection.execute(text("select extract(epoch from clock_timestamp())")).scalar_one())
    return time.time()


def lease_clock(connection: Connection) -> float:
    """Seconds by which leases are kept: one clock for all who share the database, which nobody sets.

    Of one machine it is the kernel's count of seconds since it was started, each start far behind the one before, so
    that leases of an earlier one have run out. It stands still while the machine sleeps, as its workers do.
    """
    if connection.dialect.name == "postgresql":
        return now_of(connection)
    boot = _BOOT_ID.read_text(encoding="ascii").strip()
    number = connection.execute(select(_BOOTS.c.number).where(_BOOTS.c.boot == boot)).scalar()
    if number is None:
        (number,) = connection.execute(insert(_BOOTS).values(boot=boot)).inserted_primary_key or (0,)
    return _BEHIND_ALL_DATES + _BETWEEN_BOOTS * int(number) + time.monotonic()


@lru_cache(maxsize=8)
def _engine(url: str, tables: MetaData, file: Path) -> Engine:
    if url.startswith("sqlite"):
        file.parent.mkdir(parents=True, exist_ok=True)
    engine = sqlalchemy.create_engine(_with_driver(url), connect_args=_connect_args(url), pool_pre_ping=True)
    if url.startswith("sqlite"):
        # The driver's own BEGIN takes no lock, so two could read the same and both write.
        event.listen(engine, "connect", lambda raw, _: _prepare(raw))
        event.listen(engine, "begin", _take_lock)
    with engine.connect() as connection, _begin(connection, file):
        if engine.dialect.name == "postgresql":  # where two that make the same table at once get an error
            connection.execute(select(func.pg_advisory_xact_lock(_MAKING_TABLES)))
        tables.create_all(connection)
    return engine


def _take_lock(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get(_READS) else "BEGIN IMMEDIATE")


def _prepare(raw: sqlite3.Connection) -> None:
    """Readers do not wait for the writer, and what was committed is on the disk."""
    raw.isolation_level = None
    raw.execute("PRAGMA journal_mode=WAL")
    raw.execute("PRAGMA synchronous=FULL")


def _with_driver(url: str) -> str:
    """SQLAlchemy's spelling for the Postgres driver that is installed."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1).replace("postgres://", "postgresql+psycopg://", 1)


def _connect_args(url: str) -> dict[str, object]:
    if url.startswith("sqlite"):
        return {"timeout": BUSY_SECONDS}
    return {"connect_timeout": BUSY_SECONDS, "options": _SERVER_OPTIONS}
