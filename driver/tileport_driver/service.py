"""The driver's front door, for its command line and for the bot: one order in, one ended attempt out."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tileport_driver import ledger
from tileport_driver.alone import is_worked_on
from tileport_driver.container import Stopped
from tileport_driver.failures import Transient
from tileport_driver.progress import Progress
from tileport_driver.records import MachineryFailed, Outcome, PortRequest, Refused
from tileport_driver.requests import Order, make_request
from tileport_driver.store import AttemptFolder, attempt_id, attempt_of, new_attempt
from tileport_skill.errors import MachineryError, RequestError

RETRY_DELAYS = (5.0, 30.0, 120.0)
"""Seconds before each further try of what may go away by itself."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. `attempt` is None for a request that was refused before there was one."""

    outcome: Outcome
    attempt: AttemptFolder | None


def port(order: Order, progress: Progress, stop: Callable[[], bool]) -> Ended:
    """Makes one attempt, or goes on with the unfinished one of the same request.

    Raises `Stopped` if asked to stop; whatever else ends it is in the outcome.
    """
    try:
        attempt = begin(make_request(order))
    except RequestError as error:
        return Ended(Refused(reason=str(error)), None)
    except MachineryError as error:
        return Ended(MachineryFailed(reason=str(error)), None)
    return go_on(attempt, progress, stop)


def begin(request: PortRequest) -> AttemptFolder:
    """The attempt that serves the request: a new one as the ledger allows it, or the one there is, ended or not.

    Raises `RequestError` when all attempts are spent.
    """
    name = attempt_id(request)
    begun = ledger.begin(request, name)
    if isinstance(begun, ledger.Begun):
        return new_attempt(
            replace(request, attempt=begun.number, previous=begun.previous, diagnosis=begun.diagnosis), name
        )
    here = attempt_of(begun.attempt)
    if here is None and isinstance(begun, ledger.Waiting):
        raise RequestError(
            f"{begun.attempt} waits for a GPU's judgement, and its folder is not on this machine. Have it judged "
            f"there, or have a maintainer grant another: tileport grant {request.operator} --why WHY"
        )
    there = here or new_attempt(request, begun.attempt)
    # What an agent has come to its end with is judged, whatever was committed since: it has been paid for.
    done = isinstance(begun, ledger.Waiting) or there.agent_run() is not None
    if done or _asks_the_same(there.request(), request) or is_worked_on(there):
        return there
    there.write("outcome", MachineryFailed(reason="Given up: the same operator was asked for otherwise meanwhile."))
    ledger.end(there.id, MachineryFailed(reason=""))
    return begin(request)


def go_on(
    attempt: AttemptFolder,
    progress: Progress,
    stop: Callable[[], bool],
    delays: tuple[float, ...] = RETRY_DELAYS,
) -> Ended:
    """Does what is left of an attempt: all of a new one, nothing of a finished one.

    What may go away by itself is tried again after each of `delays`, and costs no attempt.
    """
    for delay in (*delays, None):
        try:
            ended = _go_on_once(attempt, progress, stop)
            break
        except Transient as trouble:
            if delay is None:
                return Ended(MachineryFailed(reason=str(trouble)), attempt)
            _wait(delay, f"{str(trouble).splitlines()[0]} Again in {delay:.0f} s.", progress, stop)
    if ended.outcome.kind != "failed":
        ledger.end(attempt.id, ended.outcome, attempt.request().engine)
    return ended


def _go_on_once(attempt: AttemptFolder, progress: Progress, stop: Callable[[], bool]) -> Ended:
    # Only here, as importing them costs seconds that `ops` and `show` need not pay.
    from tileport_driver.attempt import open_host
    from tileport_driver.durable import run_durably

    outcome = attempt.outcome()
    if outcome is not None and not attempt.work.exists():
        return Ended(outcome, attempt)
    try:
        with open_host(progress, stop) as host:
            run_durably(attempt, host)
    except (Stopped, Transient):
        raise
    except RequestError as error:
        return Ended(Refused(reason=str(error)), attempt)
    except (MachineryError, OSError) as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        what_to_do = f" Free some of the disk that {attempt.path} is on, then resume the attempt." if full else ""
        return Ended(MachineryFailed(reason=f"{error}{what_to_do}"), attempt)
    outcome = attempt.outcome()
    if outcome is None:
        return Ended(MachineryFailed(reason=f"{attempt.id} ended without an outcome; resume it."), attempt)
    return Ended(outcome, attempt)


def _asks_the_same(one: PortRequest, other: PortRequest) -> bool:
    """Number and predecessor are the ledger's."""
    return one == replace(other, attempt=one.attempt, previous=one.previous, diagnosis=one.diagnosis)


def _wait(seconds: float, words: str, progress: Progress, stop: Callable[[], bool]) -> None:
    progress.say(words)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if stop():
            raise Stopped
        time.sleep(min(0.2, seconds))
