"""On SQLite one writes at a time; whoever only reads, or writes another file, does not wait for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy import text

from tileport_bot import inbox
from tileport_bot.inbox import Delivery
from tileport_driver import jobs
from tileport_driver.database import transaction


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)


def test_a_reader_sees_what_was_committed_while_somebody_writes() -> None:
    assert jobs.all_jobs() == ()  # the tables are made
    with transaction() as writing, transaction(reads=True) as reading:
        writing.execute(
            text("insert into tileport_jobs (queue, key, request, state, fence) values ('gpu','k','{}','x',0)")
        )
        assert reading.execute(text("select count(*) from tileport_jobs")).scalar_one() == 0


def test_a_delivery_is_kept_while_somebody_writes_of_requests() -> None:
    assert inbox.count_waiting() == 0
    with transaction() as writing:
        writing.execute(text("select 1"))
        inbox.keep([Delivery(id="1", event="issues", about="a/b#1", body="{}")], time.time())
        assert inbox.count_waiting() == 1
