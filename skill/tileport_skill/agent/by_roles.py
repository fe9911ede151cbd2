"""A port by its roles in one process: a conversation of its own for each, and the same machine that `next` shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tileport_skill.agent.loop import Ended
from tileport_skill.agent.task import Task
from tileport_skill.pipeline.brief import brief
from tileport_skill.pipeline.ending import conclude
from tileport_skill.pipeline.machine import Complete, Run
from tileport_skill.pipeline.submit import submit
from tileport_skill.pipeline.verdicts import Role
from tileport_skill.pipeline.work import Work

SYSTEM = """\
You are one of several roles that port a GPU operator from cuTile Python to cuTile Rust. You have a shell and a text
editor; there is no network. What counts is what the files do: programs check them when you end, and your word decides
nothing that they can see.
"""


def run_roles(work: Work, talk: Callable[[Task], Ended]) -> Ended:
    """Runs every role that is due until the port has ended, or the model cannot be reached.

    A role whose conversation failed is submitted like any other: what it left decides. Only where the model was away
    is nothing submitted, so that the same role is due when the run goes on. The conversations' counts are summed.
    """
    turns = calls = 0
    while isinstance(step := work.step(), Run):
        if step.role is Role.PREFLIGHT:
            return _end("failed", "this folder has not been through preflight", turns, calls)
        ended = talk(Task(system=SYSTEM, message=message(work, step)))
        turns, calls = turns + ended.turns, calls + ended.tool_calls
        if ended.unreachable:
            return replace(ended, turns=turns, tool_calls=calls)
        with work.locked():
            submit(work, step.role)
    path = conclude(work, step)
    if isinstance(step, Complete):
        return _end("finished", f"the port is complete: {step.outcome}; see {path}", turns, calls)
    return _end("failed", f"the port was given up: {step.why}; see {path}", turns, calls)


def message(work: Work, step: Run) -> str:
    """What a role is told: pointers, nothing pasted."""
    said = brief(work, step.role, repair=step.repair)
    lines = [f"You are the {said['role']}. Port `{said['operator']}` in {said['repo']}.", "", "Read first:"]
    lines += [f"- {path}" for path in said["read"]]
    if said["reports"]:
        lines += ["", "Earlier reports, if you need them:", *(f"- {path}" for path in said["reports"])]
    if said["repair"]:
        lines += ["", "Your last run could not be taken:", *(f"- {text}" for text in said["repair"])]
    lines += [
        "",
        "You may change only these, and your report:",
        *(f"- {path}" for path in said["write"] or ["nothing"]),
    ]
    lines += ["", f"FOLDER is {work.root}, REPO is {said['repo']}. Check your work with: {said['check']}"]
    lines += [
        f"End by writing {said['report']}, with one last line `verdict: ` and one of {', '.join(said['verdicts'])}."
    ]
    return "\n".join(lines)


def _end(state: str, reason: str, turns: int, calls: int) -> Ended:
    finished = state == "finished"
    return Ended(
        state="finished" if finished else "failed", reason=reason, summary=reason, turns=turns, tool_calls=calls
    )
