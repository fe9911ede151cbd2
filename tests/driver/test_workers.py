"""Many workers, one queue: each job ends once, whoever dies, hangs or comes back late. On SQLite and on Postgres."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.driver.postgres import postgres
from tests.driver.test_cli import tileport
from tileport_driver import jobs, ledger, worker
from tileport_driver.failures import Transient
from tileport_driver.host.processes import process_state
from tileport_driver.jobs import Lease
from tileport_driver.records import Delivery, MachineryFailed, NotPorted, PortRequest, Unproved
from tileport_driver.service import Ended
from tileport_driver.store import new_attempt
from tileport_skill.errors import MachineryError, RequestError

REQUEST = PortRequest(
    repository="/r", operator="scale", base_commit="0" * 40, reference_hash="a" * 64, engine="anthropic"
)
STAGES = 6


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same code on either; tables of ours are emptied first, as the server serves the whole module."""
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    if request.param == "postgres":
        monkeypatch.setenv("TILEPORT_DATABASE_URL", request.getfixturevalue("server"))
        from tileport_driver.database import TABLES, transaction

        with transaction() as connection:
            for table in TABLES.sorted_tables:
                connection.execute(table.delete())
    (tmp_path / "state").mkdir()
    return str(request.param)


def requests(count: int) -> list[PortRequest]:
    return [replace(REQUEST, operator=f"op{number:02}") for number in range(count)]


def take(name: str = "w", seconds: float = 60) -> Lease:
    lease = jobs.take("agents", name, seconds)
    assert lease is not None
    return lease


def start(lease: float, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.driver.worker_process", str(lease), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def traced() -> list[list[str]]:
    path = Path(os.environ["TILEPORT_STATE"], "trace")
    return [line.split(" ", 2) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for(holds: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def results() -> list[tuple[str, str | None]]:
    return [(job.request.operator, job.result) for job in jobs.all_jobs()]


@pytest.mark.usefixtures("database")
def test_the_same_request_is_one_job_until_it_has_ended() -> None:
    first = jobs.submit(REQUEST)
    assert jobs.submit(replace(REQUEST, base_commit="1" * 40)) == first
    assert jobs.finish(take(), "ported")
    assert jobs.submit(REQUEST) != first


@pytest.mark.usefixtures("database")
def test_of_many_that_reach_for_a_job_one_gets_it() -> None:
    for request in requests(5):
        jobs.submit(request)
    found: list[Lease | None] = []
    threads = [threading.Thread(target=lambda n=n: found.append(jobs.take("agents", f"w{n}"))) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = [lease.job.id for lease in found if lease is not None]
    assert len(held) == len(set(held)) == 5


@pytest.mark.usefixtures("database")
def test_a_late_riser_changes_nothing() -> None:
    jobs.submit(REQUEST)
    late = take("late", seconds=0.01)
    time.sleep(0.05)
    taken_over = take("next")
    assert (taken_over.previous_worker, taken_over.job.fence) == ("late", late.job.fence + 1)
    assert not jobs.renew(late)
    assert not jobs.note_attempt(late, "other")
    assert not jobs.finish(late, "ported")
    assert not jobs.put_back(late)
    assert jobs.finish(taken_over, "not ported", "x")
    assert results() == [("scale", "not ported")]


@pytest.mark.usefixtures("database")
def test_a_held_job_is_nobodys_until_its_lease_runs_out_and_renewing_keeps_it() -> None:
    jobs.submit(REQUEST)
    lease = take(seconds=0.3)
    for _ in range(4):
        time.sleep(0.1)
        assert jobs.renew(lease, 0.3)
        assert jobs.take("agents", "other") is None


@pytest.mark.usefixtures("database")
def test_a_worker_that_lost_its_lease_is_told_to_stop_and_writes_no_end() -> None:
    jobs.submit(REQUEST)

    def serve(lease: Lease, stop: Callable[[], bool]) -> Ended:
        with jobs.transaction() as connection:  # as if another had taken it
            connection.execute(jobs._JOBS.update().values(fence=99, worker="other"))
        wait_for(stop, 10)
        return Ended(ledger_outcome(), None)

    assert worker.work("agents", looks(3), lease_seconds=0.4, serve=serve) == 0
    assert [job.state for job in jobs.all_jobs()] == ["working"]


def ledger_outcome() -> Unproved:
    return Unproved(delivery=Delivery(branch="port/scale", commit="c" * 40), missing=())


def looks(count: int) -> Callable[[], bool]:
    """A stop that says yes from the `count`-th look of the main thread on."""
    seen: list[int] = []

    def stop() -> bool:
        if threading.current_thread() is threading.main_thread():
            seen.append(1)
        return len(seen) > 400 or (len(seen) > count and not any(job.state == "waiting" for job in jobs.all_jobs()))

    return stop


@pytest.mark.usefixtures("database")
def test_what_could_not_be_proved_here_waits_on_the_gpu_queue_and_costs_no_attempt() -> None:
    jobs.submit(REQUEST)
    attempt = new_attempt(REQUEST, "scale-x")

    def serve(lease: Lease, stop: Callable[[], bool]) -> Ended:
        assert isinstance(ledger.begin(REQUEST, attempt.id), ledger.Begun)
        ledger.end(attempt.id, ledger_outcome())
        return Ended(ledger_outcome(), attempt)

    assert worker.work("agents", lambda: False, drain=True, serve=serve) == 1
    (_, waiting) = jobs.all_jobs()
    assert (waiting.queue, waiting.attempt, waiting.state) == ("gpu", attempt.id, "waiting")
    assert jobs.take("agents", "w") is None
    assert ledger.account(REQUEST).spent == 0


@pytest.mark.usefixtures("database")
def test_what_a_gpu_could_not_decide_is_not_judged_for_ever() -> None:
    jobs.submit(REQUEST, "gpu", "scale-x")
    attempt = new_attempt(REQUEST, "scale-x")
    serve = lambda lease, stop: Ended(ledger_outcome(), attempt)  # noqa: E731
    assert worker.work("gpu", lambda: False, drain=True, serve=serve) == 1
    assert [job.result for job in jobs.all_jobs()] == ["unproved"]


@pytest.mark.usefixtures("database")
def test_a_judgement_that_could_not_be_made_just_now_waits_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_AGAIN_SECONDS", 0.1)
    jobs.submit(REQUEST, "gpu", "scale-x")
    tries: list[int] = []

    def serve(lease: Lease, stop: Callable[[], bool]) -> Ended:
        tries.append(lease.job.fence)
        if len(tries) == 1:
            raise Transient("Docker was restarted")
        return Ended(ledger_outcome(), None)

    assert worker.work("gpu", lambda: False, drain=True, serve=serve) == 1
    assert tries == [1, 2]


def failing(*what: Exception | MachineryFailed | None) -> tuple[worker.Serve, list[str]]:
    """A server of jobs that goes through these, one for each job it is given, and then does what it is asked."""
    left, served = list(what), []

    def serve(lease: Lease, stop: Callable[[], bool]) -> Ended:
        served.append(lease.job.request.operator)
        trouble = left.pop(0) if left else None
        if isinstance(trouble, Exception):
            raise trouble
        return Ended(trouble or NotPorted(reasons=("x",)), None)

    return serve, served


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("queue", ["agents", "gpu"])
def test_what_becomes_of_one_job_stops_no_other(queue: jobs.QueueName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SETBACK_SECONDS", 3600.0)
    for request in requests(3):
        jobs.submit(request, queue)
    serve, _ = failing(RequestError("the commit is gone"), ValueError("a bug of ours"))
    assert worker.work(queue, lambda: False, drain=True, serve=serve) == 2
    states = [(job.state, job.result, job.why) for job in jobs.all_jobs()]
    assert states == [
        ("ended", "refused", "the commit is gone"),
        ("waiting", None, "ValueError: a bug of ours"),
        ("ended", "not ported", "x"),
    ]


@pytest.mark.usefixtures("database")
def test_a_worker_that_hangs_in_the_middle_of_a_job_loses_it_though_its_lease_has_a_thread_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(worker.QUIET_SECONDS, "agents", 0.2)
    jobs.submit(REQUEST)
    taken: list[Lease] = []

    def hang(lease: Lease, stop: Callable[[], bool]) -> Ended:
        wait_for(lambda: taken.extend(one for one in [jobs.take("agents", "next")] if one) or taken, 30)
        return Ended(NotPorted(reasons=("too late",)), None)

    assert worker.work("agents", looks(3), lease_seconds=0.4, serve=hang) == 0
    assert [(job.state, job.worker) for job in jobs.all_jobs()] == [("working", "next")]


@pytest.mark.usefixtures("database")
def test_what_our_machinery_failed_at_waits_for_longer_each_time_and_then_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MOST_FAILURES", 99)
    jobs.submit(REQUEST)
    for number in range(1, worker.MOST_SETBACKS):
        assert jobs.set_back(take(), "the disk is full", first=0.0) == number
    assert [job.state for job in jobs.all_jobs()] == ["waiting"]
    serve, served = failing(MachineryFailed(reason="the disk is full"))
    assert worker.work("agents", lambda: False, drain=True, serve=serve) == 0
    assert served == ["scale"]
    assert [(job.state, job.result, job.why) for job in jobs.all_jobs()] == [("ended", "failed", "the disk is full")]


@pytest.mark.usefixtures("database")
def test_what_waits_for_a_gpu_is_set_back_for_ever_and_is_nobodys_meanwhile() -> None:
    jobs.submit(REQUEST, "gpu", "scale-x")
    lease = jobs.take("gpu", "w")
    assert lease is not None
    assert jobs.set_back(lease, "the driver is gone", first=0.0) == 1
    for number in range(2, 30):
        again = jobs.take("gpu", "w")
        assert again is not None
        assert jobs.set_back(again, "the driver is gone", first=0.0) == number
    last = jobs.take("gpu", "w")
    assert last is not None
    assert jobs.set_back(last, "the driver is gone", first=60.0) == 30
    assert (jobs.take("gpu", "w"), jobs.unfinished("gpu")) == (None, False)
    assert [(job.state, job.why) for job in jobs.all_jobs()] == [("waiting", "the driver is gone")]


@pytest.mark.usefixtures("database")
def test_a_worker_whose_machine_fails_three_times_in_a_row_ends_and_leaves_the_jobs_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "SETBACK_SECONDS", 3600.0)
    for request in requests(7):
        jobs.submit(request)
    sick = MachineryFailed(reason="no space left")
    serve, served = failing(sick, sick, None, sick, sick, sick)
    with pytest.raises(MachineryError, match="3 jobs in a row failed for reasons of this machine"):
        worker.work("agents", lambda: False, serve=serve)
    assert len(served) == 6
    assert sorted(job.state for job in jobs.all_jobs()) == ["ended"] + ["waiting"] * 6


@pytest.mark.usefixtures("database")
def test_one_job_that_fails_again_and_again_ends_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SETBACK_SECONDS", 0.0)
    jobs.submit(REQUEST)
    serve, served = failing(*[MachineryFailed(reason="a bug in this one")] * 9)
    assert worker.work("agents", lambda: False, drain=True, serve=serve) == 0
    assert len(served) == worker.MOST_SETBACKS


@pytest.mark.usefixtures("database")
def test_what_cannot_be_judged_just_now_lets_others_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_AGAIN_SECONDS", 0.3)
    for request in requests(2):
        jobs.submit(request, "gpu", f"{request.operator}-x")
    serve, served = failing(*[Transient("the GPU is busy")] * 2)
    assert worker.work("gpu", lambda: False, drain=True, serve=serve) == 2
    assert served[:2] == ["op00", "op01"], "the oldest is not tried again first"


@pytest.mark.usefixtures("database")
def test_a_job_ends_and_waits_for_a_gpu_in_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.submit(REQUEST)
    lease = take()
    enter = jobs._enter

    def killed(*_: Any) -> int:
        raise MachineryError("killed between the two")

    monkeypatch.setattr(jobs, "_enter", killed)
    with pytest.raises(MachineryError):
        jobs.finish(lease, "unproved", for_gpu="scale-x")
    assert [job.state for job in jobs.all_jobs()] == ["working"], "neither of the two was written"
    monkeypatch.setattr(jobs, "_enter", enter)
    assert jobs.finish(lease, "unproved", for_gpu="scale-x")
    assert [(job.queue, job.state) for job in jobs.all_jobs()] == [("agents", "ended"), ("gpu", "waiting")]


def test_a_lease_that_an_earlier_version_kept_by_the_date_has_run_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    jobs.submit(REQUEST)
    take("before")
    with jobs.transaction() as connection:
        connection.execute(jobs._JOBS.update().values(alive_until=time.time() + 60))
    assert take("after").previous_worker == "before"


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
@pytest.mark.usefixtures("database")
def test_a_clock_that_is_set_takes_no_lease_away(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.submit(REQUEST)
    lease = take(seconds=30)
    wall = time.time
    monkeypatch.setattr(time, "time", lambda: wall() + jump)
    assert jobs.take("agents", "other") is None
    assert jobs.renew(lease)


def test_leases_of_before_the_machine_was_started_again_have_run_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    jobs.submit(REQUEST)
    take("before", seconds=1e6)
    boot = tmp_path / "boot_id"
    boot.write_text("another\n")
    monkeypatch.setattr("tileport_driver.database._BOOT_ID", boot)
    assert take("after", seconds=1e6).previous_worker == "before"
    assert jobs.take("agents", "other") is None


def test_a_machine_without_a_gpu_takes_no_job_of_that_queue(tmp_path: Path) -> None:
    done = tileport("worker", "--queue", "gpu", "--drain", state=tmp_path, PATH="/usr/bin:/bin")
    assert done.returncode == 12
    assert "cannot judge on a GPU" in done.stderr


@pytest.mark.usefixtures("database")
def test_three_operators_end_once_each_though_a_worker_is_killed_and_another_hangs() -> None:
    for request in requests(3):
        jobs.submit(request)
    first = start(2, 0.4)
    wait_for(lambda: len(traced()) >= 3)
    first.kill()
    first.wait()
    second = start(2, 0.4)
    wait_for(lambda: any(pid == str(second.pid) for pid, *_ in traced()))
    second.send_signal(signal.SIGSTOP)
    third = start(2, 0.1)
    assert third.wait(180) == 0
    assert second.wait(30) == -signal.SIGKILL  # it held the attempt's lock
    check_each_ended_once(3)


@pytest.mark.usefixtures("database")
def test_who_takes_a_job_over_goes_on_with_it_itself_though_others_work_on_the_same_database() -> None:
    """DBOS queues what it recovers, and another process that took it from there could only let go of it."""
    for request in requests(2):
        jobs.submit(request)
    busy = start(60, -1)
    wait_for(lambda: len(traced()) >= 1)
    for _ in range(3):
        killed = start(1, 1)
        wait_for(lambda killed=killed: any(pid == str(killed.pid) for pid, *_ in traced()), 60)
        killed.kill()
        killed.wait()
    last = start(1, 0.05)
    Path(os.environ["TILEPORT_STATE"], "go").touch()
    assert [busy.wait(120), last.wait(120)] == [0, 0]
    check_each_ended_once(2)


def check_no_finished_stage_was_done_again(count: int) -> None:
    """A stage is done again only if who came to its end was killed before that was written down, as DBOS says."""
    ends: dict[tuple[str, str], list[str]] = {}
    last = {pid: (attempt, what) for pid, attempt, what in traced()}
    for pid, attempt, what in traced():
        if what.startswith("end"):
            ends.setdefault((attempt, what), []).append(pid)
    assert len(ends) == count * STAGES
    assert [end for end, pids in ends.items() for pid in pids[:-1] if last[pid] != end] == []


def check_each_ended_once(count: int) -> None:
    assert results() == [(f"op{number:02}", "not ported") for number in range(count)]
    assert len({attempt for _, attempt, _ in traced()}) == count, "one attempt for each operator"
    check_no_finished_stage_was_done_again(count)
    assert all(ledger.account(request).spent == 1 for request in requests(count))


HOLDER = """
import os, signal
from tileport_driver import database, jobs
database._SERVER_OPTIONS = "-c idle_in_transaction_session_timeout=500"
with database.transaction() as connection:
    connection.execute(jobs._JOBS.update().values(why="held"))
    os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.usefixtures("database")
def test_a_process_that_hangs_in_the_middle_of_a_transaction_keeps_nobody_from_its_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tileport_driver.database.BUSY_SECONDS", 0.5)
    jobs.submit(REQUEST)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER])
    try:
        wait_for(lambda: process_state(holder.pid) == "T")
        found: list[Lease] = []
        wait_for(lambda: found.extend(lease for lease in [jobs.take("agents", "w")] if lease) or found, 20)
        assert found[0].job.request == REQUEST
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.usefixtures("database")
def test_a_worker_outlives_a_database_that_is_away_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.submit(REQUEST)
    away = iter([True, True])
    take = jobs.take

    def sometimes(*arguments: Any) -> Lease | None:
        if next(away, False):
            raise MachineryError("the database does not serve")
        return take(*arguments)

    monkeypatch.setattr(jobs, "take", sometimes)
    serve = lambda lease, stop: Ended(ledger_outcome(), None)  # noqa: E731
    assert worker.work("agents", lambda: False, drain=True, serve=serve) == 1


@pytest.mark.soak
@pytest.mark.parametrize("workers", [1, 3])
def test_twenty_four_operators_end_once_each_with_a_worker_killed_every_few_seconds(
    database: str, workers: int
) -> None:
    for request in requests(24):
        jobs.submit(request)
    running = [start(3, 0.3) for _ in range(workers)]
    killed = 0
    deadline = time.monotonic() + 1200
    while any(job.state != "ended" for job in jobs.all_jobs()):
        assert time.monotonic() < deadline
        time.sleep(4)
        if killed < 12:
            running[killed % workers].kill()
            running[killed % workers].wait()
            running[killed % workers] = start(3, 0.3)
            killed += 1
    assert [process.wait(120) for process in running] == [0] * workers
    check_each_ended_once(24)
