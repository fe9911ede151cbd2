"""`/check`: the gates that need a GPU, entered into the driver's queue for whichever machine has one."""

from __future__ import annotations

from tileport_bot import replies, requests
from tileport_bot.events import Place
from tileport_driver import jobs
from tileport_driver.records import Unproved
from tileport_driver.store import AttemptFolder, attempt_of


def queue_gates(place: Place, operator: str) -> str:
    """Enters the newest unproved port of the operator that was asked for in this issue; what is to be said of it."""
    attempt = _attempt(place, operator)
    if attempt is None:
        return replies.no_queue(operator)
    if not isinstance(attempt.outcome(), Unproved):
        return replies.nothing_to_check(operator)
    jobs.submit(attempt.request(), "gpu", attempt.id)
    return replies.gates_queued(operator)


def _attempt(place: Place, operator: str) -> AttemptFolder | None:
    for request in requests.of_issue(place.repository, place.issue):
        if request.record.operator == operator and request.attempt:
            return attempt_of(request.attempt)
    return None
