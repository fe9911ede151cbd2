"""A request is entered once, held by one worker at a time, and ended once. On SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.driver.postgres import postgres

from tileport_bot import inbox, requests
from tileport_bot.events import Place
from tileport_bot.inbox import Delivery
from tileport_bot.status import Record, Stage
from tileport_driver.worker import is_gone, worker_name

PLACE = Place(
    repository="example/TileGym", default_branch="main", issue=12, sender="alice", sender_is_bot=False, trigger="t"
)
RECORD = Record(operator="scale", reference="a" * 64, stage=Stage.QUEUED, attempt=1, asked_by="alice", trigger="t")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"], autouse=True)
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    if request.param == "postgres":
        monkeypatch.setenv("TILEPORT_DATABASE_URL", request.getfixturevalue("server"))
        from tileport_driver.database import TABLES, transaction

        with transaction() as connection:
            for table in TABLES.sorted_tables:
                connection.execute(table.delete())


def taken(worker: str = "w") -> requests.Request:
    requests.ready(PLACE, RECORD)
    found = requests.take(worker)
    assert found is not None
    return found


def test_twenty_that_enter_the_same_at_once_have_one_request() -> None:
    with ThreadPoolExecutor(20) as pool:
        entered = list(pool.map(lambda _: requests.enter(PLACE, RECORD), range(20)))
    assert len({request.id for request, _ in entered}) == 1
    assert [is_new for _, is_new in entered].count(True) == 1
    assert len(requests.newest(100)) == 1


def test_another_reference_or_operator_or_repository_is_another_request_and_so_is_one_after_the_end() -> None:
    requests.enter(PLACE, RECORD)
    for place, record in (
        (PLACE, replace(RECORD, reference="b" * 64)),
        (PLACE, replace(RECORD, operator="rows")),
        (replace(PLACE, repository="example/Other"), RECORD),
    ):
        assert requests.enter(place, record)[1]
    assert requests.end(taken(), RECORD, "the end", "ended")
    assert requests.enter(PLACE, RECORD)[1]


def test_twenty_workers_that_take_at_once_get_one_request_between_them() -> None:
    requests.enter(PLACE, RECORD)
    requests.ready(PLACE, RECORD)
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda number: requests.take(f"w{number}"), range(20)))
    assert len([request for request in found if request is not None]) == 1


def test_a_request_whose_comment_is_not_written_yet_waits_for_it() -> None:
    requests.enter(PLACE, RECORD)
    assert requests.take("w") is None
    assert taken().record == RECORD


def test_a_worker_that_lost_its_lease_writes_nothing_more() -> None:
    requests.enter(PLACE, RECORD)
    late = taken("late")
    assert requests.renew(late, seconds=-1)
    now = requests.take("now")
    assert now is not None
    assert now.fence > late.fence
    assert not requests.renew(late)
    assert not requests.note_stage(late, replace(RECORD, stage=Stage.RUNNING))
    assert not requests.end(late, RECORD, "the late one's words", "ended")
    assert requests.end(now, RECORD, "the words", "ended")
    assert requests.find(now.id).last_words == "the words"


def test_what_a_dead_worker_held_waits_again_at_once_and_what_a_living_one_holds_does_not() -> None:
    requests.enter(PLACE, RECORD)
    taken(worker_name())
    assert requests.release_dead(is_gone) == 0
    host, pid, _ = worker_name().rsplit(":", 2)
    with_another_start = f"{host}:{pid}:1"
    requests.put_back(requests.newest(1)[0])
    assert requests.take(with_another_start) is not None
    assert requests.release_dead(is_gone) == 1
    assert requests.take("w") is not None


def test_one_put_back_for_later_waits_and_keeps_its_attempt() -> None:
    requests.enter(PLACE, RECORD)
    request = taken()
    requests.note_attempt(request, "scale-1")
    assert requests.put_back(request, 3600, "GitHub asks to wait", tried=True)
    assert requests.take("w") is None
    again = requests.take("w", id=request.id)
    assert again is not None
    assert (again.attempt, again.tries) == ("scale-1", 1)
    assert [line for _, line in requests.log_lines(request.id)][-1] == "GitHub asks to wait"


def test_one_taken_back_ends_at_once_if_it_waits_and_by_its_worker_if_not() -> None:
    waiting, _ = requests.enter(PLACE, RECORD)
    cancelled = replace(RECORD, stage=Stage.CANCELLED)
    assert requests.take_back(waiting.id, cancelled, "cancelled").state == "ended"
    working, _ = requests.enter(PLACE, RECORD)
    request = taken()
    assert requests.take_back(working.id, cancelled, "cancelled").state == "working"
    assert requests.find(request.id).taken_back
    assert requests.end(request, cancelled, "cancelled", "cancelled")
    assert [one.told for one in requests.untold(seconds=0)] == [False, False]


def test_deliveries_about_one_issue_keep_their_order_and_those_about_others_do_not_wait() -> None:
    deliveries = [
        Delivery(id=str(n), event="issues", about=about, body="{}")
        for n, about in enumerate(("a/b#1", "a/b#1", "a/b#2"))
    ]
    inbox.keep([*deliveries, *deliveries], 100.0)
    first = inbox.next_waiting(100.0)
    assert first is not None
    inbox.put_off(first, 200.0, "GitHub is away")
    other = inbox.next_waiting(100.0)
    assert other is not None
    assert other.delivery.about == "a/b#2"
    inbox.done(other, "done")
    assert inbox.next_waiting(150.0) is None
    again = inbox.next_waiting(200.0)
    assert again is not None
    assert (again.delivery.id, again.tries) == ("0", 1)
    inbox.done(again, "done")
    assert inbox.count_waiting() == 1
    assert inbox.forget(before=101.0) == 2
    inbox.keep(deliveries[1:2], 300.0)
    assert inbox.count_waiting() == 1
