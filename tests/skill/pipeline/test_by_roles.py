"""The engine runs the roles through the same machine: real conversations, tools and validators, scripted answers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anthropic.types import Message
from pydantic import TypeAdapter
from tests.skill.pipeline.conftest import GOOD, KERNEL, Place

from tileport_skill.agent.by_roles import run_roles
from tileport_skill.agent.client import Refused, Unreachable
from tileport_skill.agent.editor import Editor
from tileport_skill.agent.loop import Ended, Limits, converse
from tileport_skill.agent.shell import Shell
from tileport_skill.agent.task import Task
from tileport_skill.agent.tools import Toolbox
from tileport_skill.pipeline.brief import brief
from tileport_skill.pipeline.diagnosis import Diagnosis
from tileport_skill.pipeline.machine import Run
from tileport_skill.pipeline.verdicts import Role, Verdict


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
        self.bytes: list[int] = []
        self.shell = Shell(place.repo, environment=dict(os.environ))
        deadline = time.monotonic() + 600
        self.tools = Toolbox(self.shell, Editor(place.repo), shell_seconds=60, deadline=deadline)

    def ask(self, request: dict[str, Any]) -> Message:
        self.sizes.append(len(request["messages"]))
        self.bytes.append(len(json.dumps(request)))
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
    text = brief(analyzed.work, Role.KERNEL_WRITER, repair=False)["prompt"]
    assert len(text) < 2_000
    assert f"FOLDER is {analyzed.work.root}, REPO is {analyzed.repo}" in text
    assert analyzed.run("next").output.partition("prompt:\n\n")[2].strip() == text
    assert "roles/kernel-writer.md" in text
    assert "one of equal, not-equal, blocked" in text


BLOCKED = "mkdir -p {0}/reports && echo 'verdict: blocked' > {0}/reports/kernel-writer-1.md"


def test_a_model_that_loops_is_stopped_and_the_diagnosis_says_so(analyzed: Place) -> None:
    model = Model(analyzed, [bash("ls")] * 10)
    ended = run_roles(analyzed.work, model.talk)
    model.shell.restart()
    assert "left no report that can be read" in ended.reason
    assert [entry.conversation for entry in analyzed.work.history()[2:]] == [
        "the model loops: 5 times the same calls with the same results"
    ] * 2
    assert "the model loops" in (analyzed.work.root / "diagnosis.md").read_text()


def test_tool_calls_that_fit_no_tool_are_answered_and_the_role_goes_on(analyzed: Place) -> None:
    wrong: list[dict[str, Any]] = [
        {"name": "bash", "input": {"cmd": "ls"}},
        {"name": "bash", "input": {"command": ["ls"]}},
        {"name": "browser", "input": {}},
        {"name": "str_replace_based_edit_tool", "input": {"command": "delete"}},
    ]
    calls = [{"type": "tool_use", "id": f"t{number}", **call} for number, call in enumerate(wrong)]
    model = Model(analyzed, [answer("tool_use", *calls), bash(BLOCKED.format(analyzed.work.root)), DONE])
    ended = run_roles(analyzed.work, model.talk)
    model.shell.restart()
    assert "the kernel writer was blocked" in ended.reason
    assert ended.tool_calls == 5


def test_a_hundred_megabytes_of_output_reach_neither_the_model_nor_the_history(analyzed: Place) -> None:
    flood = "head -c 100000000 /dev/zero | tr '\\0' x"
    model = Model(analyzed, [bash(flood), bash(BLOCKED.format(analyzed.work.root)), DONE])
    run_roles(analyzed.work, model.talk)
    model.shell.restart()
    assert analyzed.work.history()[-1].verdict is Verdict.BLOCKED
    assert max(model.bytes) < 100_000
    assert analyzed.work.history_file.stat().st_size < 100_000


def test_a_run_whose_budget_is_spent_in_a_roles_turn_ends_there_and_the_role_stays_due(analyzed: Place) -> None:
    before = analyzed.work.history()
    model = Model(analyzed, [bash("ls"), Refused("budget spent: no more", over=True)])
    ended = run_roles(analyzed.work, model.talk)
    model.shell.restart()
    assert (ended.state, ended.over) == ("failed", True)
    assert analyzed.work.history() == before
    assert analyzed.work.step() == Run(Role.KERNEL_WRITER)
    found = TypeAdapter(Diagnosis).validate_json((analyzed.work.root / "diagnosis.json").read_bytes())
    assert (found.owner, found.why) == ("budget", "kernel-writer was cut short: budget spent: no more")


def test_a_role_whose_own_share_is_spent_is_judged_by_what_it_left(analyzed: Place) -> None:
    share = Refused("the role's share of the budget is spent")
    model = Model(analyzed, [bash(BLOCKED.format(analyzed.work.root)), share])
    run_roles(analyzed.work, model.talk)
    model.shell.restart()
    last = analyzed.work.history()[-1]
    assert (last.verdict, last.conversation) == (Verdict.BLOCKED, share.reason)


def test_a_role_that_writes_the_history_finds_it_put_back_and_its_run_is_not_taken(analyzed: Place) -> None:
    forged = f"{BLOCKED.format(analyzed.work.root)}; tail -n 1 {analyzed.work.root}/history.jsonl"
    forged += f' | sed \'s/"number": 2/"number": 3/\' >> {analyzed.work.root}/history.jsonl'
    model = Model(analyzed, [bash(forged), DONE, bash(BLOCKED.replace("-1", "-2").format(analyzed.work.root)), DONE])
    run_roles(analyzed.work, model.talk)
    model.shell.restart()
    history = analyzed.work.history()
    assert [(entry.role, entry.verdict) for entry in history[2:]] == [
        (Role.KERNEL_WRITER, Verdict.MALFORMED),
        (Role.KERNEL_WRITER, Verdict.BLOCKED),
    ]
    assert "which is no role's; it was put back" in history[2].problems[0].text


def test_a_role_that_deletes_the_reference_is_asked_to_undo_it_and_then_given_up(analyzed: Place) -> None:
    gone = f"{BLOCKED.format(analyzed.work.root)}; rm tilegym/ops/cutile/scale.py"
    model = Model(analyzed, [bash(gone), DONE])
    ended = run_roles(analyzed.work, model.talk)
    model.shell.restart()
    assert ended.state == "failed"
    last = analyzed.work.history()[-1]
    assert (last.role, last.verdict) == (Role.KERNEL_WRITER, Verdict.MALFORMED)
    assert "undo it: tilegym/ops/cutile/scale.py" in last.problems[0].text
    assert "cannot go on: No operator is named" in (analyzed.work.root / "diagnosis.md").read_text()
