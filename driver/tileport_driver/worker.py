"""`tileport worker`: takes jobs from a queue, one at a time, and holds each by a lease while it works on it.

A worker that finds its lease lost stops where it is: nothing it still does is written to the job. One that took over a
job goes on with the attempt where the other left it; if the other hangs on this machine, it is killed first, as it
still holds the attempt's lock.

What becomes of one job stops no other. One that our machinery failed at is set back; on the agents' queue it ends
after some times, on the GPU's it waits for as long as it must. A worker to which this happens with three jobs in a row
ends: it is its machine that needs looking at, not the next job.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Literal

import structlog

from tileport_driver import jobs
from tileport_driver.container import Stopped
from tileport_driver.failures import Transient
from tileport_driver.host.processes import alive, identity, is_elsewhere
from tileport_driver.jobs import Lease, QueueName
from tileport_driver.leases import renewed
from tileport_driver.progress import Progress
from tileport_driver.records import MachineryFailed, Refused
from tileport_driver.service import Ended, begin, go_on
from tileport_skill.errors import MachineryError, RequestError

log = structlog.get_logger()
_IDLE_SECONDS, _AGAIN_SECONDS = 1.0, 5.0
MOST_FAILURES = 3
MOST_SETBACKS = 5
SETBACK_SECONDS = jobs.FIRST_SETBACK
QUIET_SECONDS = {"agents": 2 * 3600.0, "gpu": 5 * 3600.0}
"""For so long a job may go on without asking whether to stop, which whatever waits does several times a second: longer
than what does not wait takes by its own limits, the toolchain made on a new machine or a program on a GPU."""
_SICK = (
    f"{MOST_FAILURES} jobs in a row failed for reasons of this machine (`tileport queue` says which). Have a look at "
    "it, then start the worker again; the jobs wait."
)
Done = Literal["ended", "left", "machinery failed"]
Serve = Callable[[Lease, Callable[[], bool]], Ended]


def work(
    queue: QueueName,
    stop: Callable[[], bool],
    drain: bool = False,
    lease_seconds: float = jobs.LEASE_SECONDS,
    serve: Serve | None = None,
) -> int:
    """Works until asked to stop, or until nothing waits if it is to `drain`. Gives the number of jobs it ended.

    Raises `MachineryError` after our machinery failed at three jobs in a row.
    """
    name = worker_name()
    serve = serve or (serve_agents if queue == "agents" else _serve_gpu())
    ended = 0
    failing: set[int] = set()
    jobs.unfinished(queue)  # a database that never answered is told at once
    while not stop():
        try:
            lease = jobs.take(queue, name, lease_seconds)
            done: Done = "left" if lease is None else _do(lease, serve, stop, lease_seconds)
            if lease is None and drain and not jobs.unfinished(queue):
                return ended
        except MachineryError as error:  # the database is away: what was begun is gone on with once it is back
            log.warning("waiting", why=str(error))
            lease, done = None, "left"
        ended += done == "ended"
        if done == "ended":
            failing.clear()
        if lease is not None and done == "machinery failed":
            failing.add(lease.job.id)  # one that fails again and again says nothing of the machine
        if len(failing) >= MOST_FAILURES:
            raise MachineryError(_SICK)
        if lease is None:
            _sleep(_IDLE_SECONDS, stop)
    return ended


def _do(lease: Lease, serve: Serve, stop: Callable[[], bool], lease_seconds: float) -> Done:
    """One job, to its end if this worker comes to write it."""
    job = lease.job
    say = log.bind(job=job.id, operator=job.request.operator, fence=job.fence)
    if lease.previous_worker is not None:
        say.info("taken over", previous=lease.previous_worker, killed=end_hung(lease.previous_worker))
    life = _Life(QUIET_SECONDS[job.queue])
    with renewed(lambda: life.goes_on() and jobs.renew(lease, lease_seconds), lease_seconds, str(job.id)) as lost:
        try:
            ended = _serve(lease, serve, lambda: life.shows() and (stop() or lost.is_set()))
        except Stopped:
            back = not lost.is_set() and jobs.put_back(lease)
            say.info("put back" if back else "lost to another worker")
            return "left"
        except Transient as trouble:  # what waits for a GPU waits for as long as it must, and lets others by
            jobs.set_back(lease, str(trouble)[:2000], _AGAIN_SECONDS)
            say.warning("put back", why=str(trouble))
            return "left"
        if _worked_on_elsewhere(ended):
            jobs.put_back(lease)
            _sleep(_IDLE_SECONDS, stop)
            return "left"
        if isinstance(ended.outcome, MachineryFailed):
            return _set_back(lease, ended.outcome, say)
        # One that a GPU could not decide either is not measured again by itself: a person looks at why.
        waits = job.queue == "agents" and ended.outcome.kind == "unproved" and ended.attempt is not None
        for_gpu = ended.attempt.id if waits and ended.attempt is not None else None
        written = jobs.finish(lease, ended.outcome.kind, _why(ended), for_gpu)
    say.info("ended" if written else "lost to another worker", outcome=ended.outcome.kind)
    return "ended" if written else "left"


class _Life:
    """Whether the thread that does the job does anything; the one that renews its lease always does."""

    def __init__(self, quiet: float) -> None:
        self._quiet, self._last = quiet, time.monotonic()

    def shows(self) -> bool:
        self._last = time.monotonic()
        return True

    def goes_on(self) -> bool:
        return time.monotonic() - self._last < self._quiet


def _serve(lease: Lease, serve: Serve, stop: Callable[[], bool]) -> Ended:
    """What cannot be served, and what we got wrong about this one, are its end and nobody else's."""
    try:
        return serve(lease, stop)
    except RequestError as error:
        return Ended(Refused(reason=str(error)), None)
    except (Stopped, MachineryError):
        raise
    except Exception as bug:
        log.exception("a fault of ours", job=lease.job.id)
        return Ended(MachineryFailed(reason=f"{type(bug).__name__}: {bug}"), None)


def _set_back(lease: Lease, failed: MachineryFailed, say: structlog.stdlib.BoundLogger) -> Done:
    count = jobs.set_back(lease, failed.reason[:2000], SETBACK_SECONDS)
    say.warning("set back" if count else "lost to another worker", times=count, why=failed.reason)
    if lease.job.queue == "agents" and count >= MOST_SETBACKS and jobs.give_up(lease.job.id, failed.kind):
        say.warning("given up")
    return "machinery failed" if count else "left"


def serve_agents(lease: Lease, stop: Callable[[], bool]) -> Ended:
    """A port, as `tileport port` makes it, gone on with if it was begun."""
    try:
        attempt = begin(lease.job.request)
    except RequestError as error:
        return Ended(Refused(reason=str(error)), None)
    except MachineryError as error:
        return Ended(MachineryFailed(reason=str(error)), None)
    if not jobs.note_attempt(lease, attempt.id):
        raise Stopped
    return go_on(attempt, Progress(), stop)


def _serve_gpu() -> Serve:
    from tileport_driver.gpu.worker import require_gpu, serve_gpu  # torch and CUPTI are looked for only here

    require_gpu()
    return serve_gpu


def worker_name() -> str:
    """This process, for good."""
    return identity(os.getpid())


def is_gone(worker: str) -> bool:
    """Whether a worker of this machine has ended; of another machine's nothing is known."""
    return not is_elsewhere(worker) and alive(worker) is None


def end_hung(worker: str) -> bool:
    """Kills a worker of this machine whose lease ran out, if it is there still: it hangs. True if it was."""
    pid = alive(worker)
    if pid is None or pid == os.getpid():
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while alive(worker) is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    return True


def _worked_on_elsewhere(ended: Ended) -> bool:
    return isinstance(ended.outcome, Refused) and "being worked on by another" in ended.outcome.reason


def _why(ended: Ended) -> str:
    outcome = ended.outcome
    reasons = getattr(outcome, "reasons", ()) or (getattr(outcome, "reason", ""),)
    return str(reasons[0])[:2000]


def _sleep(seconds: float, stop: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stop():
        time.sleep(0.05)
