"""The driver's front door, for its command line and for the bot: one order in, one ended attempt out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tileport_driver.container import Stopped
from tileport_driver.progress import Progress
from tileport_driver.records import MachineryFailed, Outcome, Refused
from tileport_driver.requests import Order, make_request
from tileport_driver.store import AttemptFolder, new_attempt
from tileport_skill.errors import MachineryError, RequestError


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. `attempt` is None for a request that was refused before there was one."""

    outcome: Outcome
    attempt: AttemptFolder | None


def port(order: Order, progress: Progress, stop: Callable[[], bool]) -> Ended:
    """Makes one attempt. Raises `Stopped` if asked to stop; whatever else ends it is in the outcome."""
    try:
        request = make_request(order)
    except RequestError as error:
        return Ended(Refused(reason=str(error)), None)
    return go_on(new_attempt(request), progress, stop)


def go_on(attempt: AttemptFolder, progress: Progress, stop: Callable[[], bool]) -> Ended:
    """Does what is left of an attempt: all of a new one, nothing of a finished one."""
    # Only here, as importing them costs seconds that `ops` and `show` need not pay.
    from tileport_driver.attempt import open_host
    from tileport_driver.durable import run_durably

    try:
        with open_host(progress, stop) as host:
            run_durably(attempt, host)
    except Stopped:
        raise
    except RequestError as error:
        return Ended(Refused(reason=str(error)), attempt)
    except (MachineryError, OSError) as error:
        return Ended(MachineryFailed(reason=str(error)), attempt)
    outcome = attempt.outcome()
    if outcome is None:
        return Ended(MachineryFailed(reason=f"{attempt.id} ended without an outcome; resume it."), attempt)
    return Ended(outcome, attempt)
