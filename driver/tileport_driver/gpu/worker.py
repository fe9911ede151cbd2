"""The GPU queue's work: a delivered draft that nothing was found against is judged by the gates it could not have."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tileport_driver import jobs, ledger
from tileport_driver.container import Stopped
from tileport_driver.failures import Transient
from tileport_driver.gpu.host import needs
from tileport_driver.jobs import Lease
from tileport_driver.judge_patch import Question, judge_patch
from tileport_driver.outcome import settle
from tileport_driver.progress import Progress
from tileport_driver.records import MachineryFailed, Refused, Unproved
from tileport_driver.reporting import write_report
from tileport_driver.service import Ended
from tileport_driver.store import AttemptFolder, attempt_of
from tileport_skill.errors import MachineryError, RequestError


def require_gpu() -> None:
    """Raises `RequestError` where the gates could not run; the jobs wait for a machine where they can."""
    missing = [need for need in needs() if not need.ok]
    if missing:
        words = "; ".join(f"{need.what}: {need.how}" for need in missing)
        raise RequestError(f"This machine cannot judge on a GPU, so it takes no job of that queue. {words}")


def serve_gpu(lease: Lease, stop: Callable[[], bool]) -> Ended:
    """Judges the attempt's patch anew, whole, and settles its outcome by that."""
    request = lease.job.request
    attempt = attempt_of(lease.job.attempt or "")
    outcome = attempt.outcome() if attempt is not None else None
    if attempt is None or not isinstance(outcome, Unproved):
        return Ended(Refused(reason=f"{lease.job.attempt} is not here, or waits for no judgement."), attempt)
    question = Question(
        patch=attempt.diff,
        operator=request.operator,
        repository=Path(request.repository),
        base=request.base_commit,
        also_hidden=request.also_hidden,
    )
    try:
        acceptance, judged = judge_patch(question, Progress(), stop)
    except Transient:
        raise
    except MachineryError as error:
        return Ended(MachineryFailed(reason=str(error)), attempt)
    if not jobs.renew(lease):  # another worker judges it meanwhile; what this one found comes too late
        raise Stopped
    _keep_evidence(judged, attempt)
    settled = settle(acceptance, outcome.delivery)
    attempt.write("acceptance", acceptance)
    attempt.write("outcome", settled)
    ledger.settle(attempt.id, settled, request.engine)
    write_report(attempt)
    return Ended(settled, attempt)


def _keep_evidence(judged: AttemptFolder, attempt: AttemptFolder) -> None:
    """The gates name files of the attempt's folder: those of this judgement, not of the one before it."""
    for new, old in ((judged.evidence, attempt.evidence), (judged.gpu, attempt.gpu)):
        if new.exists():
            shutil.rmtree(old, ignore_errors=True)
            shutil.copytree(new, old)
