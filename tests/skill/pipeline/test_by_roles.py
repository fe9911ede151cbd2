"""The engine runs the roles through the same machine: real conversations, tools and validators, scripted answers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anthropic.types import Message
from tests.skill.pipeline.conftest import GOOD, KERNEL, Place

from tileport_skill.agent.by_roles import message, run_roles
from tileport_skill.agent.client import Unreachable
from tileport_skill.agent.editor import Editor
from tileport_skill.agent.loop import Ended, Limits, converse
from tileport_skill.agent.shell import Shell
from tileport_skill.agent.task import Task
from tileport_skill.agent.tools import Toolbox
from tileport_skill.pipeline.machine import Run
from tileport_skill.pipeline.verdicts import Role


def answer(stop: str, *content: dict[str, Any]) -> Message:
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": list(content)}
    return Message.model_validate({**body, "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 1}})


def bash(command: str) -> Message:
    return answer("tool_use", {"type": "tool_use", "id": "t", "name": "bash", "input": {"command": command}})


DONE = answer("end_turn", {"type": "text", "text": "Done."})


class Model:
    """Gives the answers it was made with; keeps what each conversation began with."""

    def __init__(self, place: Place, answers: list[Message | Exception]) -> None:
        self.answers: Iterator[Message | Exception] = iter(answers)
        self.begun: list[Task] = []
        self.sizes: list[int] = []
        self.shell = Shell(place.repo, environment=dict(os.environ))
        deadline = time.monotonic() + 600
        self.tools = Toolbox(self.shell, Editor(place.repo), shell_seconds=60, deadline=deadline)

    def ask(self, request: dict[str, Any]) -> Message:
        self.sizes.append(len(request["messages"]))
        given = next(self.answers)
        if isinstance(given, Exception):
            raise given
        return given

    def talk(self, task: Task, role: Role) -> Ended:
        self.begun.append(task)
        return converse(
            task,
            model="m",
            ask=self.ask,
            run_tool=self.tools.run,
            limits=Limits(),
            deadline=time.monotonic() + 600,
            tell=lambda **_: None,
        )


def report(place: Place, name: str, verdict: str) -> str:
    return f"mkdir -p {place.work.root}/reports && echo 'verdict: {verdict}' > {place.work.root}/reports/{name}.md"


def test_each_role_has_a_conversation_of_its_own_and_the_files_decide(analyzed: Place) -> None:
    place = analyzed
    write = f"mkdir -p {Path(KERNEL).parent} && cat > {KERNEL} <<'END'\n{GOOD}END\n"
    model = Model(
        place,
        [
            bash(write + report(place, "kernel-writer-1", "equal")),
            DONE,
            bash(report(place, "host-builder-1", "pass")),
            DONE,
            bash(report(place, "host-builder-2", "fail-environment")),
            DONE,
        ],
    )
    ended = run_roles(place.work, model.talk)
    model.shell.restart()
    assert ended.state == "failed"
    assert "the environment is at fault" in ended.reason
    assert (ended.turns, ended.tool_calls) == (6, 3)
    assert model.sizes == [1, 3, 1, 3, 1, 3]
    assert [task.message.split(".")[0] for task in model.begun] == [
        "You are the kernel-writer",
        "You are the host-builder",
        "You are the host-builder",
    ]
    assert len({task.system for task in model.begun}) == 1
    assert [str(entry.verdict) for entry in place.work.history()[2:]] == ["equal", "fail-host", "fail-environment"]
    assert (place.work.root / "diagnosis.md").is_file()


def test_a_model_that_is_away_costs_no_run(analyzed: Place) -> None:
    model = Model(analyzed, [Unreachable("away")])
    ended = run_roles(analyzed.work, model.talk)
    assert ended.unreachable
    assert analyzed.work.step() == Run(Role.KERNEL_WRITER)


def test_a_model_that_refuses_is_asked_once_more_and_then_given_up(analyzed: Place) -> None:
    model = Model(analyzed, [answer("refusal"), answer("refusal")])
    ended = run_roles(analyzed.work, model.talk)
    assert "left no report that can be read" in ended.reason
    assert "Your last run could not be taken" in model.begun[1].message


def test_a_role_is_told_pointers_and_nothing_is_pasted(analyzed: Place) -> None:
    text = message(analyzed.work, Run(Role.KERNEL_WRITER))
    assert len(text) < 2_000
    assert "roles/kernel-writer.md" in text
    assert "one of equal, not-equal, blocked" in text
