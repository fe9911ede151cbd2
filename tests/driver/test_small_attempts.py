"""Whoever is killed and whenever, an attempt ends as it would have: once, on one branch, and nothing is left of it.

Real drivers, workers, databases, containers and daemons; `small_attempts.py` says what the containers run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.driver import small_attempts as small
from tests.driver.gpu.small_gpu import TRACE
from tests.driver.postgres import postgres
from tests.driver.test_killed import own_engine
from tests.driver.test_workers import check_no_finished_stage_was_done_again, traced, wait_for
from tileport_driver import attempt as attempts
from tileport_driver import jobs, ledger
from tileport_driver.container import STATE_LABEL
from tileport_driver.host.engine import docker_engine
from tileport_driver.records import Unproved
from tileport_driver.reporting import timings
from tileport_driver.requests import Order, make_request
from tileport_driver.store import all_attempts
from tileport_driver.terminal import show_jobs

__all__ = ["own_engine"]
pytestmark = pytest.mark.docker
BOUNDARIES = [f"{side} {stage}" for stage in attempts.STAGES for side in ("begin", "end")]
BOUNDARIES += [f"during {stage}" for stage in small.CONTAINERS]


class Bench:
    """A target, what the programs inside leave, and processes that work on it."""

    def __init__(self, folder: Path, count: int, runtime: Path | None = None) -> None:
        self.count = count
        self.target = small.repository(folder / "target", count)
        self.payload = small.payload(folder / "payload", count)
        self.environment = dict(os.environ) | ({small.RUNTIME: str(runtime)} if runtime else {})

    def start(self, role: str, die: str = "") -> subprocess.Popen[str]:
        what = f"{self.target}:op00" if role == "driver" else role
        command = [sys.executable, "-m", "tests.driver.small_attempts", what, str(self.payload), die]
        return subprocess.Popen(command, cwd=Path(__file__).parents[2], env=self.environment, text=True)

    def submit(self) -> None:
        for name in small.names(self.count):
            jobs.submit(make_request(Order(operator=name, repository=self.target, engine="none")))

    def check(self, drafts: int = 1) -> None:
        """Each operator ended once, and nothing is left of it but folder and branch."""
        made = all_attempts()
        assert sorted(one.request().operator for one in made) == small.names(self.count)
        otherwise = [one.outcome() for one in made if not isinstance(one.outcome(), Unproved)]
        assert otherwise == []
        assert sorted(small.branches(self.target)) == [f"port/{name}" for name in small.names(self.count)]
        for one in made:
            assert (one.path / "draft" / "began").read_text().count("began") <= drafts
            assert not one.work.exists()
            assert not one.sockets.exists()
        check_no_finished_stage_was_done_again(self.count)
        with docker_engine() as client:
            label = {"label": f"{STATE_LABEL}={Path(os.environ['TILEPORT_STATE']).resolve()}"}
            assert client.containers.list(all=True, filters=label) == []
            assert client.volumes.list(filters=label) == []


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    (tmp_path / "state").mkdir()
    return tmp_path


@pytest.fixture
def on_postgres(state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with postgres() as url:
        monkeypatch.setenv("TILEPORT_DATABASE_URL", url)
        yield


def killed_at(bench: Bench, role: str, boundary: str) -> None:
    """Somebody dies there; who was killed is started again, the driver of a killed daemon goes on by itself."""
    if role == "worker":
        bench.submit()
    first = bench.start(role if role != "daemon" else "driver", f"{role} {boundary}")
    code = first.wait(180)
    assert code == (0 if role == "daemon" else -signal.SIGKILL)
    if role != "daemon":
        assert bench.start(role).wait(180) == 0


@pytest.mark.parametrize(
    ("role", "boundary"),
    [
        pytest.param(
            role, at, marks=() if (role, at) in (("driver", "during check"), ("worker", "during run")) else soak
        )
        for soak in [pytest.mark.soak]
        for role in ("driver", "worker")
        for at in BOUNDARIES
    ],
)
def test_killed_at_a_boundary_it_ends_as_it_would_have(state: Path, role: str, boundary: str) -> None:
    with docker_engine():
        bench = Bench(state, 1)
        killed_at(bench, role, boundary)
        bench.check()


def test_an_attempt_whose_progress_is_lost_is_made_again_whole(state: Path) -> None:
    """As when a database is put back from yesterday: the folder knows more than the database."""
    with docker_engine():
        bench = Bench(state, 1)
        assert bench.start("driver", "driver during check").wait(180) == -signal.SIGKILL
        for file in (state / "state").glob("progress.sqlite*"):
            file.unlink()
        assert bench.start("driver").wait(180) == 0
    (made,) = all_attempts()
    assert isinstance(made.outcome(), Unproved)
    assert [what for *_, what in traced()].count("end prepare") == 2
    assert not made.work.exists()


@pytest.mark.parametrize(
    "boundary", [pytest.param(at, marks=() if at == "during run" else pytest.mark.soak) for at in BOUNDARIES]
)
def test_a_daemon_killed_at_a_boundary_costs_nothing(state: Path, own_engine: Path, boundary: str) -> None:
    bench = Bench(state, 1, own_engine)
    with docker_engine():  # so that it stays between two processes
        killed_at(bench, "daemon", boundary)
    bench.check(drafts=2)


@pytest.mark.soak
@pytest.mark.parametrize("role", ["driver", "worker"])
@pytest.mark.parametrize("seed", range(10))
def test_killed_at_a_random_moment_it_ends_as_it_would_have(state: Path, role: str, seed: int) -> None:
    with docker_engine():
        bench = Bench(state, 1)
        if role == "worker":
            bench.submit()
        first = bench.start(role)
        wait_for(traced)
        time.sleep(random.Random(seed).uniform(0, 6))
        if not any(
            what == "end report" for *_, what in traced()
        ):  # else it is past its end, and asked again is another
            first.kill()
        if first.wait(180) != 0:
            assert bench.start(role).wait(180) == 0
        bench.check()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_a_daemon_killed_at_a_random_moment_costs_nothing(state: Path, own_engine: Path, seed: int) -> None:
    bench = Bench(state, 1, own_engine)
    with docker_engine():
        driver = bench.start("driver")
        wait_for(traced)
        time.sleep(random.Random(seed).uniform(0, 6))
        os.kill(int((own_engine / "docker.pid").read_text()), signal.SIGKILL)
        assert driver.wait(180) == 0
    bench.check(drafts=2)


def kill_now_and_then(bench: Bench, workers: int, every: float, most: int) -> int:
    """Workers on the queue; every few seconds one that has begun is killed and another started, until all has ended."""
    running = [bench.start("worker") for _ in range(workers)]
    killed, deadline, dice = 0, time.monotonic() + 3000, random.Random(workers)
    while any(job.state != "ended" for job in jobs.all_jobs() if job.queue == "agents"):
        assert time.monotonic() < deadline
        time.sleep(every)
        begun = [one for one in running if any(pid == str(one.pid) for pid, *_ in traced())]
        if begun and killed < most:
            victim = dice.choice(begun)
            victim.kill()
            victim.wait()
            running[running.index(victim)] = bench.start("worker")
            killed += 1
    assert [process.wait(300) for process in running] == [0] * workers
    return killed


@pytest.mark.soak
def test_on_sqlite_twenty_four_operators_end_once_each_though_their_worker_is_killed_every_few_seconds(
    state: Path,
) -> None:
    check_many(Bench(state, 24), 1)


@pytest.mark.soak
@pytest.mark.usefixtures("on_postgres")
def test_on_postgres_twenty_four_operators_end_once_each_though_one_of_three_workers_is_killed_every_few_seconds(
    state: Path,
) -> None:
    check_many(Bench(state, 24), 3)


@pytest.mark.usefixtures("on_postgres")
def test_three_operators_end_once_each_though_a_worker_is_killed_and_two_judge_them_one_after_the_other_on_a_gpu(
    state: Path,
) -> None:
    bench = Bench(state, 3)
    bench.submit()
    with docker_engine():
        assert kill_now_and_then(bench, workers=2, every=1, most=1) == 1
        check_all_ended(bench)
        bench.check()
        running = [bench.start("gpu") for _ in range(2)]
        assert [process.wait(300) for process in running] == [0, 0]
    assert [job.result for job in jobs.all_jobs() if job.queue == "gpu"] == ["ported"] * 3
    assert [one.outcome().kind for one in all_attempts()] == ["ported"] * 3  # type: ignore[union-attr]
    assert (state / "state" / TRACE).read_text().split() == ["begin", "end"] * 3
    for one in all_attempts():
        named = [name for gate in one.acceptance().gates for name in getattr(gate, "files", ())]  # type: ignore[union-attr]
        assert [name for name in named if not (one.path / name).exists()] == []
        assert len(timings(one)) == 1, "the report shows what was measured"


def check_many(bench: Bench, workers: int) -> None:
    bench.submit()
    with docker_engine():
        killed = kill_now_and_then(bench, workers, every=4, most=20)
        check_all_ended(bench)
        bench.check()
    assert killed > 5
    show_jobs(jobs.all_jobs(), Console(width=160))
    print(f"{killed} workers were killed.")


def check_all_ended(bench: Bench) -> None:
    results = [(job.request.operator, job.result) for job in jobs.all_jobs() if job.queue == "agents"]
    assert results == [(name, "unproved") for name in small.names(bench.count)]
    made = {one.id for one in all_attempts()}
    waiting = [job.attempt for job in jobs.all_jobs() if job.queue == "gpu"]
    assert sorted(map(str, waiting)) == sorted(made), "each waits for a GPU once"
    assert all(ledger.account(one.request()).spent == 0 for one in all_attempts())
