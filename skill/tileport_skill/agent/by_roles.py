"""A port by its roles in one process: a conversation of its own for each, and the same machine that `next` shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tileport_skill.agent.loop import Ended
from tileport_skill.agent.task import Task
from tileport_skill.errors import RequestError
from tileport_skill.pipeline.brief import brief
from tileport_skill.pipeline.ending import conclude, cut_short
from tileport_skill.pipeline.machine import Complete, Run, Stop
from tileport_skill.pipeline.records import Entry, Problem
from tileport_skill.pipeline.submit import submit
from tileport_skill.pipeline.verdicts import Role, Verdict
from tileport_skill.pipeline.work import Work

SYSTEM = """\
You are one of several roles that port a GPU operator from cuTile Python to cuTile Rust. You have a shell and a text
editor; there is no network. What counts is what the files do: programs check them when you end, and your word decides
nothing that they can see.
"""
PATIENCE = 900.0
"""Seconds to wait for a check that a role has left running."""
Talk = Callable[[Task, Role], Ended]
Judge = Callable[[Work, Role, str | None, Sequence[Problem]], Entry]
"""What takes a run in; another than `submit` only where the conversations alone are looked at."""


def run_roles(work: Work, talk: Talk, judge: Judge = submit) -> Ended:
    """Runs every role that is due until the port has ended, or nothing answers any more.

    A role whose conversation failed is submitted like any other: what it left decides. Where the model was away, or
    the whole run's budget is spent, nothing is submitted, so that the same role is due when the run goes on. The
    conversations' counts are summed.
    """
    turns = calls = 0
    while isinstance(step := work.step(), Run):
        if step.role is Role.PREFLIGHT:
            return _end("failed", "this folder has not been through preflight", turns, calls)
        try:
            told = brief(work, step.role, repair=step.repair)["prompt"]
        except RequestError as error:  # a role took away what the checkout needs to be one
            path = conclude(work, Stop(f"{step.role} cannot go on: {error}"))
            return _end("failed", f"the port was given up: {error}; see {path}", turns, calls)
        kept = work.history_file.read_bytes()
        ended = talk(Task(system=SYSTEM, message=told), step.role)
        turns, calls = turns + ended.turns, calls + ended.tool_calls
        if ended.unreachable:
            return replace(ended, turns=turns, tool_calls=calls)
        tampered = put_back(work.history_file, kept)
        if ended.over:
            path = cut_short(work, step.role, ended.reason)
            return _end("failed", f"{ended.reason}; see {path}", turns, calls, over=True)
        with work.locked(PATIENCE):
            judge(work, step.role, None if ended.state == "finished" else ended.reason, tampered)
    path = conclude(work, step)
    if isinstance(step, Complete):
        return _end("finished", f"the port is complete: {step.outcome}; see {path}", turns, calls)
    return _end("failed", f"the port was given up: {step.why}; see {path}", turns, calls)


def put_back(history: Path, kept: bytes) -> tuple[Problem, ...]:
    """The history as it was before a role that wrote into it, and the problem that this is."""
    if not history.is_symlink() and history.is_file() and history.read_bytes() == kept:
        return ()
    history.unlink(missing_ok=True)
    history.write_bytes(kept)
    return (Problem(owner=Verdict.MALFORMED, text=f"{history.name} was changed, which is no role's; it was put back"),)


def _end(state: str, reason: str, turns: int, calls: int, *, over: bool = False) -> Ended:
    finished = state == "finished"
    return Ended(
        state="finished" if finished else "failed",
        reason=reason,
        summary=reason,
        turns=turns,
        tool_calls=calls,
        over=over,
    )
