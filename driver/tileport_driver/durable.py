"""How far each attempt has come, kept by DBOS: a killed driver goes on where it stopped, no stage is done twice.

One workflow per attempt, one step per stage. Measured on DBOS 3.4: a workflow is only recovered by the executor of
the same id and application version, and two live processes of one id run steps twice. So an attempt is its own
executor, and a file lock keeps a second process out. What is recovered goes through a queue, from which any process of
the same version takes it, one that works on another attempt too, and can only let go of it; so the version is the
attempt's own as well. A failure of our machinery must not be recorded as a step's result: it leaves as a
`BaseException`, which DBOS does not record, and the step stays undone. Nor does DBOS tell who waits for a workflow that
it recovered: that one would wait for ever, so the stage tells it itself.

Progress is of a folder, not of a name: where somebody removed an attempt's folder, what was done in it is to do again.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dbos import DBOS, DBOSConfig, SetWorkflowID, WorkflowHandle

from tileport_driver.alone import alone
from tileport_driver.attempt import STAGES, Host, timed
from tileport_driver.container import Stopped
from tileport_driver.database import progress_url
from tileport_driver.failures import Transient
from tileport_driver.store import AttemptFolder

_FORMAT = "tileport-attempt-1"
_LOOK_SECONDS = 1.0
_UNFINISHED = ("PENDING", "ENQUEUED", "DELAYED")


@dataclass(slots=True, eq=False)
class _Work:
    """An attempt that this process works on, and what stopped it."""

    attempt: AttemptFolder
    host: Host
    undone: threading.Event = field(default_factory=threading.Event)
    cause: BaseException | None = None


_running: dict[str, _Work] = {}


class Undone(BaseException):
    """A stage that did not come to an end; `cause` says why, and the attempt can be resumed."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


def run_durably(attempt: AttemptFolder, host: Host) -> None:
    """Runs the attempt's remaining stages to its outcome. Raises what stopped it, leaving it resumable."""
    work = _Work(attempt, host)
    with alone(attempt):
        key = _key(attempt)
        _running[key] = work  # before launching: that is when a stage left undone begins again
        with _launched(key):
            try:
                _outlast(_workflow(key), work)
            finally:
                del _running[key]


def _key(attempt: AttemptFolder) -> str:
    """What DBOS knows the attempt by, made with its folder and gone with it."""
    path = attempt.path / "progress"
    if not path.exists():
        part = path.with_suffix(".part")
        part.write_text(f"{attempt.id} {secrets.token_hex(4)}", encoding="utf-8")
        part.replace(path)
    return path.read_text(encoding="utf-8")


def _workflow(key: str) -> WorkflowHandle[None]:
    if DBOS.get_workflow_status(key) is not None:
        return DBOS.retrieve_workflow(key)
    with SetWorkflowID(key):
        return DBOS.start_workflow(_attempt, key)


def _outlast(handle: WorkflowHandle[None], work: _Work) -> None:
    """Waits until all stages are done. Raises what left one undone."""
    while not work.undone.wait(_LOOK_SECONDS):
        if handle.get_status().status not in _UNFINISHED:
            return handle.get_result()
    assert work.cause is not None
    raise work.cause


@DBOS.workflow(name="attempt")
def _attempt(key: str) -> None:
    for name in STAGES:
        _stage(key, name)


@DBOS.step(name="stage")
def _stage(key: str, name: str) -> None:
    if key not in _running:  # nobody here waits for it any more; recorded as an error it could never be resumed
        raise Undone(Transient(f"{key.split()[0]} is let go of in this process"))
    work = _running[key]
    try:
        if work.host.stop():  # asked to, or another worker has the job: what was begun is done, nothing more is begun
            raise Stopped
        timed(work.attempt, name, work.host)
    except BaseException as error:
        work.cause = error
        work.undone.set()
        raise Undone(error) from error


@contextmanager
def _launched(key: str) -> Iterator[None]:
    config: DBOSConfig = {
        "name": "tileport",
        "system_database_url": progress_url(),
        "application_version": f"{_FORMAT} {key}",
        "executor_id": key,
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy(workflow_completion_timeout_sec=0)
