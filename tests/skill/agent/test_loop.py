"""The conversation's ends: every stop reason and every limit, with answers as the SDK's own type."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from typing import Any

import pytest
from anthropic.types import Message, ToolResultBlockParam, ToolUseBlock

from tileport_skill.agent.client import Refused, Unreachable
from tileport_skill.agent.loop import Ended, Limits, converse
from tileport_skill.agent.task import Task

TASK = Task(system="s", message="Port it.")


def _answer(stop: str, *content: dict[str, Any]) -> Message:
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": list(content)}
    return Message.model_validate({**body, "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 1}})


def _say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _call(command: str, name: str = "t1") -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "bash", "input": {"command": command}}


class _Talk:
    """A model that gives the answers it was made with, and keeps what it was asked."""

    def __init__(self, answers: Iterable[Message | Exception], limits: Limits | None = None) -> None:
        self.answers = iter(answers)
        self.asked: list[dict[str, Any]] = []
        self.ran: list[str] = []
        self.limits = limits or Limits()

    def ask(self, request: dict[str, Any]) -> Message:
        self.asked.append({**request, "messages": list(request["messages"])})
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run_tool(self, call: ToolUseBlock) -> ToolResultBlockParam:
        self.ran.append(str(call.input["command"]))
        return {"type": "tool_result", "tool_use_id": call.id, "content": "same", "is_error": False}

    def hold(self, seconds: float = 600) -> Ended:
        return converse(
            TASK,
            model="m",
            ask=self.ask,
            run_tool=self.run_tool,
            limits=self.limits,
            deadline=time.monotonic() + seconds,
            tell=lambda **_: None,
        )


def test_tools_are_run_until_the_model_ends_its_turn() -> None:
    talk = _Talk([_answer("tool_use", _say("a"), _call("ls"), _call("pwd", "t2")), _answer("end_turn", _say("Done."))])
    ended = talk.hold()
    assert (ended.state, ended.summary, ended.turns, ended.tool_calls) == ("finished", "Done.", 2, 2)
    assert talk.ran == ["ls", "pwd"]
    assert [block["tool_use_id"] for block in talk.asked[1]["messages"][2]["content"]] == ["t1", "t2"]


def test_everything_before_a_cache_breakpoint_is_the_same_in_every_request() -> None:
    talk = _Talk([_answer("tool_use", _call("ls")), _answer("end_turn")])
    talk.hold()
    first, second = talk.asked
    assert {k: v for k, v in first.items() if k != "messages"} == {k: v for k, v in second.items() if k != "messages"}
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert first["system"][0]["cache_control"] == first["tools"][-1]["cache_control"] == {"type": "ephemeral"}


def test_a_call_cut_off_at_max_tokens_is_not_run_and_the_model_is_told() -> None:
    talk = _Talk([_answer("max_tokens", _call("rm -rf /wo")), _answer("end_turn", _say("ok"))])
    assert talk.hold().state == "finished"
    assert talk.ran == []
    [result] = talk.asked[1]["messages"][-1]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("t1", True)


def test_a_text_cut_off_at_max_tokens_goes_on_and_not_for_ever() -> None:
    talk = _Talk([_answer("max_tokens", _say("a")), _answer("end_turn", _say("b"))])
    assert talk.hold().state == "finished"
    assert "cut off" in talk.asked[1]["messages"][-1]["content"]
    ended = _Talk(itertools.repeat(_answer("max_tokens", _say("a")))).hold()
    assert (ended.state, ended.reason) == ("failed", "4 answers in a row ended with max_tokens")


def test_a_pause_is_sent_again_as_it_is() -> None:
    talk = _Talk([_answer("pause_turn", _say("a")), _answer("end_turn", _say("b"))])
    assert talk.hold().state == "finished"
    assert talk.asked[1]["messages"][-1] == {"role": "assistant", "content": [_say("a")]}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (_answer("refusal"), "the model refused"),
        (_answer("tool_use", _say("a")), "stopped with tool_use and 0 tool calls"),
        (_answer("model_context_window_exceeded", _say("a")), "stopped with model_context_window_exceeded"),
        (_answer("stop_sequence", _call("ls")), "stopped with stop_sequence and 1 tool calls"),
        (Refused("budget spent: 10 of 10"), "budget spent"),
        (Unreachable("no answer for 9 s"), "no answer for 9 s"),
    ],
)
def test_other_ends_are_failures_with_a_reason(answer: Message | Exception, reason: str) -> None:
    ended = _Talk([answer]).hold()
    assert ended.state == "failed"
    assert reason in ended.reason


def test_empty_text_is_not_sent_back() -> None:
    talk = _Talk([_answer("tool_use", _say(""), _call("ls")), _answer("end_turn")])
    talk.hold()
    assert [block["type"] for block in talk.asked[1]["messages"][1]["content"]] == ["tool_use"]


def test_a_model_that_goes_to_and_fro_is_ended() -> None:
    answers = itertools.cycle([_answer("tool_use", _call("ls")), _answer("tool_use", _call("pwd"))])
    ended = _Talk(answers).hold()
    assert (ended.state, ended.turns) == ("failed", 9)
    assert "loops" in ended.reason


def test_a_model_that_works_on_is_ended_by_its_turns() -> None:
    answers = (_answer("tool_use", _call(f"echo {n}")) for n in itertools.count())
    ended = _Talk(answers, Limits(turns=30)).hold()
    assert (ended.state, ended.reason, ended.turns) == ("failed", "turn limit of 30 reached", 30)


def test_a_run_over_its_time_asks_nothing_more() -> None:
    talk = _Talk([])
    assert talk.hold(seconds=0).reason == "time limit reached"
    assert talk.asked == []
