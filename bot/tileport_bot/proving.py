"""A port that was delivered with gates still open: it waits for a machine with a GPU, and what that finds is told.

The status comment is brought up to date, and the pull request; a draft that is proved now asks for review.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tileport_bot import requests
from tileport_bot.handle import Bot, conclude
from tileport_bot.progress import said, show
from tileport_bot.publish import bring_up_to_date
from tileport_bot.replies import how_it_stands, status_comment
from tileport_bot.requests import Request
from tileport_bot.status import Stage
from tileport_driver import jobs
from tileport_driver.jobs import Job
from tileport_driver.store import AttemptFolder, attempt_of
from tileport_skill.errors import MachineryError

_JUDGED = ("ported", "not ported", "unproved")


def prove(bot_for: Callable[[str], Bot]) -> Iterator[str]:
    """A line for each port that was entered into the GPU queue, or whose judgement was told."""
    newest = {job.attempt: job for job in jobs.all_jobs() if job.queue == "gpu"}
    for request in requests.unproved():
        attempt = attempt_of(request.attempt or "")
        if attempt is None or _is_overtaken(request):  # made on another machine, whose sweep sees to it; or asked again
            continue
        name = f"{request.place.repository}#{request.place.issue}: {request.record.operator}"
        job = newest.get(attempt.id)
        if job is None:
            jobs.submit(attempt.request(), "gpu", attempt.id)
            yield f"{name}: waits for a machine with a GPU"
        elif job.state == "ended" and job.result in _JUDGED and job.id > request.record.judged:
            try:
                yield f"{name}: {_tell(bot_for(request.place.repository), request, attempt, job)}"
            except MachineryError as error:
                yield f"{name}: what a GPU found is not told yet: {error}"


def _tell(bot: Bot, request: Request, attempt: AttemptFolder, job: Job) -> str:
    place, before = request.place, request.record
    finished = bot.driver.run(before.operator, bot.checkout, before.attempt, _Over(attempt.id))
    record = replace(before, judged=job.id)
    pull_request = bring_up_to_date(bot.github, place, record, finished, bot.checkout) if before.pull_request else None
    record, result = conclude(record, finished, pull_request)
    body = status_comment(record, updated=said(bot.now()), result=result)
    requests.judged(request, record, body, f"on a GPU: {finished.outcome.kind}")
    show(bot.github, place, record, body)
    requests.told(request.id)
    return f"told what a GPU found: {how_it_stands(record, result)}"


def _is_overtaken(request: Request) -> bool:
    """Whether the issue's comment is a later request's by now."""
    in_issue = requests.of_issue(request.place.repository, request.place.issue)
    return any(one.record.operator == request.record.operator and one.id != request.id for one in in_issue)


@dataclass(frozen=True, slots=True)
class _Over:
    """Watches an attempt that has ended: there is nothing to watch."""

    attempt: str

    def begun(self, attempt: str) -> None: ...

    def stage(self, stage: Stage) -> None: ...

    def stop(self) -> bool:
        return False
