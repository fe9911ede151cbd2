"""How far each attempt has come, kept by DBOS: a killed driver goes on where it stopped, no stage is done twice.

One workflow per attempt, one step per stage. Measured on DBOS 3.4: a workflow is only recovered by the executor of
the same id and application version, and two live processes of one id run steps twice. So an attempt is its own
executor, and a file lock keeps a second process out. What is recovered goes through a queue, from which any process of
the same version takes it, one that works on another attempt too, and can only let go of it; so the version is the
attempt's own as well. A failure of our machinery must not be recorded as a step's result: it leaves as a
`BaseException`, which DBOS does not record, and the step stays undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dbos import DBOS, DBOSConfig, SetWorkflowID

from tileport_driver.alone import alone
from tileport_driver.attempt import STAGES, Host, timed
from tileport_driver.container import Stopped
from tileport_driver.database import progress_url
from tileport_driver.failures import Transient
from tileport_driver.store import AttemptFolder

_FORMAT = "tileport-attempt-1"
_running: dict[str, tuple[AttemptFolder, Host]] = {}


class Undone(BaseException):
    """A stage that did not come to an end; `cause` says why, and the attempt can be resumed."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


def run_durably(attempt: AttemptFolder, host: Host) -> None:
    """Runs the attempt's remaining stages to its outcome. Raises what stopped it, leaving it resumable."""
    _running[attempt.id] = (attempt, host)  # before launching: that is when a stage left undone begins again
    with alone(attempt), _launched(attempt):
        if DBOS.get_workflow_status(attempt.id) is None:
            with SetWorkflowID(attempt.id):
                handle = DBOS.start_workflow(_attempt, attempt.id)
        else:
            handle = DBOS.retrieve_workflow(attempt.id)
        try:
            handle.get_result()
        except Undone as undone:
            raise undone.cause from undone
        finally:
            del _running[attempt.id]


@DBOS.workflow(name="attempt")
def _attempt(attempt_id: str) -> None:
    for name in STAGES:
        _stage(attempt_id, name)


@DBOS.step(name="stage")
def _stage(attempt_id: str, name: str) -> None:
    if attempt_id not in _running:  # nobody here waits for it any more; recorded as an error it could never be resumed
        raise Undone(Transient(f"{attempt_id} is let go of in this process"))
    attempt, host = _running[attempt_id]
    try:
        if host.stop():  # asked to, or another worker has the job: what was begun is done, nothing more is begun
            raise Stopped
        timed(attempt, name, host)
    except BaseException as error:
        raise Undone(error) from error


@contextmanager
def _launched(attempt: AttemptFolder) -> Iterator[None]:
    config: DBOSConfig = {
        "name": "tileport",
        "system_database_url": progress_url(),
        "application_version": f"{_FORMAT} {attempt.id}",
        "executor_id": attempt.id,
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy(workflow_completion_timeout_sec=0)
