"""The agent's process: options, the parts put together, and an exit status that is 0 only if the model ended
its turn."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from types import FrameType

from tileport_skill.agent.by_roles import run_roles
from tileport_skill.agent.client import Asker, connect
from tileport_skill.agent.editor import Editor
from tileport_skill.agent.loop import Ended, Limits, converse
from tileport_skill.agent.report import AgentReport, write_report
from tileport_skill.agent.shell import Shell
from tileport_skill.agent.status import StatusBoard
from tileport_skill.agent.task import Task, read_task
from tileport_skill.agent.tools import Toolbox
from tileport_skill.agent.wire import SOCKET_NAME, TOKEN_VARIABLE
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.pipeline.begin import begin
from tileport_skill.pipeline.records import Task as PortTask
from tileport_skill.pipeline.work import Work, open_work
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

FINISHED, FAILED, USAGE, UNREACHABLE, MACHINERY, OVERDUE = 0, 1, 2, 3, 4, 124
"""Exit statuses. The model was away for longer than its patience, or what checks the roles broke down, are no fault of
the agent's; the last one, which `timeout` has too, says that a step outlived the whole run's limit."""

_GRACE = 60.0
"""Seconds past the time limit after which the process ends itself, whatever it is waiting for."""


class Stopped(SystemExit):
    """Raised in the main thread by SIGTERM, with the exit status a shell would give."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number

    def __str__(self) -> str:
        return f"stopped by signal {self.number}"


class Overdue(SystemExit):
    """Raised in the main thread by our own alarm."""

    def __init__(self) -> None:
        super().__init__(OVERDUE)

    def __str__(self) -> str:
        return "a step had not ended a while after the run's limit"


def main() -> int:
    options = _parser().parse_args()
    token = os.environ.pop(TOKEN_VARIABLE, "")
    try:
        if not token:
            raise RequestError(f"{TOKEN_VARIABLE} is not set; give the attempt's broker token in it.")
        if (options.task is None) == (options.roles is None):
            raise RequestError("Give either --task, for one conversation, or --roles, for one of each role.")
        task = None if options.task is None else read_task(options.task)
        roles = None if options.roles is None else begun(options)
    except RequestError as error:
        print(error, file=sys.stderr)
        return USAGE
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGALRM, _overdue)
    deadline = time.monotonic() + options.seconds
    due = deadline + options.grace
    with StatusBoard(options.out, interval=options.beat, on_beat=lambda: _end_overdue(due)) as board:
        shell = Shell(options.work, environment=dict(os.environ))
        toolbox = Toolbox(shell, Editor(options.work), shell_seconds=options.shell_seconds, deadline=deadline)
        asker = Asker(
            connect(options.broker / SOCKET_NAME, token),
            patience=options.patience,
            deadline=deadline,
            on_wait=lambda stage: board.update(stage=stage),
        )

        def talk(about: Task, role: str | None = None) -> Ended:
            return converse(
                about,
                model=options.model,
                ask=partial(asker, role=role),
                run_tool=toolbox.run,
                limits=Limits(turns=options.turns, max_tokens=options.max_tokens),
                deadline=deadline,
                tell=partial(board.update, role=role),
            )

        try:
            if roles is not None:
                ended = run_roles(roles, talk)
            else:
                assert task is not None
                ended = talk(task)
        except MachineryError as error:
            board.update(state="failed", stage="ended", exit_reason=str(error))
            print(error, file=sys.stderr)
            return MACHINERY
        finally:
            shell.restart()
        _write_end(options.out, ended)
        board.update(state=ended.state, stage="ended", turn=ended.turns, exit_reason=ended.reason)
    print(f"{ended.state}: {ended.reason}")
    if ended.state == "finished":
        return FINISHED
    return UNREACHABLE if ended.unreachable else FAILED


def begun(options: argparse.Namespace) -> Work:
    """The working folder of a port by roles, begun if it was not. Raises `RequestError`."""
    work = open_work(options.roles, options.work)
    if work.history():
        return work
    if options.operator is None:
        raise RequestError("Give --operator with --roles, to begin a port.")
    checkout = open_checkout(options.work.resolve())
    task = PortTask(
        operator=find_operator(read_operators(checkout), options.operator).name,
        repo=str(checkout.root),
        archs=tuple(options.arch),
        drafted=options.drafted,
        told=tuple(map(str, options.told)),
    )
    begin(work, task)
    return work


def _write_end(out: Path, ended: Ended) -> None:
    """Before the last status, so that whoever reads the end in the status finds the report."""
    report = AgentReport(
        summary=ended.summary, exit_reason=ended.reason, turns=ended.turns, tool_calls=ended.tool_calls
    )
    write_report(out, report)


def _end_overdue(due: float) -> None:
    """The loop looks at the clock between its steps; this is for the step that never ends."""
    if time.monotonic() > due:
        os.kill(os.getpid(), signal.SIGALRM)


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


def _overdue(number: int, frame: FrameType | None) -> None:
    raise Overdue


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tileport_skill.agent", description=__doc__)
    parser.add_argument("--task", type=Path, help="task.md: # System, a prompt, # Task, a message")
    parser.add_argument("--roles", type=Path, help="a port's working folder: every role that is due, until it ends")
    parser.add_argument("--operator", help="what to port, where --roles has not begun")
    parser.add_argument("--arch", nargs="+", default=["sm_90"], help="what to compare for, by roles")
    parser.add_argument("--drafted", action="store_true", help="a draft lies in the tree, and the roles begin at it")
    parser.add_argument("--told", nargs="*", default=[], type=Path, help="texts that every role is pointed at")
    parser.add_argument("--work", type=Path, required=True, help="the work tree; edits stay inside it")
    parser.add_argument("--broker", type=Path, required=True, help="directory that holds the broker's socket")
    parser.add_argument("--out", type=Path, required=True, help="directory for status.json and report.json")
    parser.add_argument("--model", required=True)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=32_000, help="per answer")
    parser.add_argument("--seconds", type=float, default=7200, help="wall-clock limit of the whole run")
    parser.add_argument("--grace", type=float, default=_GRACE, help="seconds past that for a step under way to end")
    parser.add_argument("--shell-seconds", type=float, default=900, help="limit of one shell command")
    parser.add_argument("--patience", type=float, default=1200, help="seconds to wait for a model that is away")
    parser.add_argument("--beat", type=float, default=2, help="seconds between writings of the status")
    return parser


if __name__ == "__main__":
    sys.exit(main())
