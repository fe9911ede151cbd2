"""READ FIRST: the agent's conversation with the model, from the task to the end of its turn.

`converse` is the whole of it: ask, look at why the answer stopped, run the tools it calls, ask again, within
limits.
"""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from anthropic.types import Message, TextBlock, ToolResultBlockParam, ToolUseBlock
from anthropic.types.beta import BetaContextManagementConfigParam

from tileport_skill.agent.client import Refused, Unreachable
from tileport_skill.agent.task import Task
from tileport_skill.agent.tools import DEFINITIONS, describe

CONTEXT: BetaContextManagementConfigParam = {
    "edits": [
        {
            "type": "clear_tool_uses_20250919",
            "trigger": {"type": "input_tokens", "value": 60_000},
            "keep": {"type": "tool_uses", "value": 8},
            "clear_at_least": {"type": "input_tokens", "value": 15_000},
        }
    ]
}
"""Output of old tool calls is dropped by the API itself when a conversation is long: build logs and Tile IR are read
once. At least so much at a time that writing the cache anew is worth it; what was edited stays in the files."""

Ask = Callable[[dict[str, Any]], Message]
RunTool = Callable[[ToolUseBlock], ToolResultBlockParam]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds one conversation. Money is bounded by the broker, from outside."""

    turns: int = 200
    max_tokens: int = 32_000
    """Per answer."""
    cut_answers: int = 3
    """Answers in a row that may be cut off at `max_tokens` or paused."""
    repeats: int = 5
    """Times the same calls may have the same results within the last `3 * repeats` turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a conversation ended; `finished` only when the model ended its turn."""

    state: Literal["finished", "failed"]
    reason: str
    unreachable: bool = False
    """The model could not be reached: nothing that the agent did, and worth another run."""
    over: bool = False
    """Nothing will be answered in this run any more: its budget is spent, or its script no longer fits."""
    summary: str
    turns: int
    tool_calls: int


@dataclass(slots=True)
class _Conversation:
    """What grows while it goes on."""

    messages: list[dict[str, Any]]
    turns: int = 0
    tool_calls: int = 0
    cut: int = 0
    summary: str = ""
    rounds: deque[str] = field(default_factory=deque)

    def ended(self, state: Literal["finished", "failed"], reason: str) -> Ended:
        return Ended(state=state, reason=reason, summary=self.summary, turns=self.turns, tool_calls=self.tool_calls)


def converse(
    task: Task,
    *,
    model: str,
    ask: Ask,
    run_tool: RunTool,
    limits: Limits,
    deadline: float,
    tell: Callable[..., None],
) -> Ended:
    """Talks until the model ends its turn or a limit is reached; `deadline` is on the monotonic clock."""
    talk = _Conversation(messages=[{"role": "user", "content": task.message}])
    while talk.turns < limits.turns:
        if time.monotonic() >= deadline:
            return talk.ended("failed", "time limit reached")
        tell(state="running", stage="asking the model", turn=talk.turns)
        try:
            answer = ask(_request(task, model, limits, talk.messages))
        except Refused as error:
            return replace(talk.ended("failed", str(error)), over=error.over)
        except Unreachable as error:
            return replace(talk.ended("failed", str(error)), unreachable=True)
        talk.turns += 1
        talk.summary = _text(answer) or talk.summary
        if ended := _react(talk, answer, run_tool, limits, tell):
            return ended
    return talk.ended("failed", f"turn limit of {limits.turns} reached")


def _request(task: Task, model: str, limits: Limits, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Stable parts first, each with a cache breakpoint: tools, system prompt, and, by the request's own
    `cache_control`, the conversation so far. Nothing in front of a breakpoint changes between turns."""
    return {
        "model": model,
        "max_tokens": limits.max_tokens,
        "system": [{"type": "text", "text": task.system, "cache_control": {"type": "ephemeral"}}],
        "tools": DEFINITIONS,
        "messages": messages,
        "cache_control": {"type": "ephemeral"},
        "context_management": CONTEXT,
    }


def _react(
    talk: _Conversation, answer: Message, run_tool: RunTool, limits: Limits, tell: Callable[..., None]
) -> Ended | None:
    """Does what the answer's stop reason asks for; an `Ended` when that is the end."""
    calls = [block for block in answer.content if isinstance(block, ToolUseBlock)]
    talk.cut = talk.cut + 1 if answer.stop_reason in ("max_tokens", "pause_turn") else 0
    if talk.cut > limits.cut_answers:
        return talk.ended("failed", f"{talk.cut} answers in a row ended with {answer.stop_reason}")
    if said := [_as_param(block) for block in answer.content if not _is_empty(block)]:
        talk.messages.append({"role": "assistant", "content": said})
    match answer.stop_reason:
        case "end_turn" if not calls:
            return talk.ended("finished", "the model ended its turn")
        case "tool_use" | "end_turn" if calls:
            return _run_tools(talk, calls, run_tool, limits, tell)
        case "max_tokens":
            talk.messages.append({"role": "user", "content": _cut_off(calls)})
        case "pause_turn":
            # Sent again as it is: the API goes on where it paused.
            pass
        case "refusal":
            return talk.ended("failed", "the model refused")
        case other:
            return talk.ended("failed", f"the answer stopped with {other} and {len(calls)} tool calls")
    return None


def _run_tools(
    talk: _Conversation,
    calls: list[ToolUseBlock],
    run_tool: RunTool,
    limits: Limits,
    tell: Callable[..., None],
) -> Ended | None:
    results = []
    for call in calls:
        action = describe(call.name, call.input)
        tell(stage=f"running {call.name}", turn=talk.turns, last_action=action)
        results.append(run_tool(call))
        talk.tool_calls += 1
    talk.messages.append({"role": "user", "content": results})
    done = [[call.name, call.input, result.get("content")] for call, result in zip(calls, results, strict=True)]
    talk.rounds.append(json.dumps(done, sort_keys=True, default=str))
    if len(talk.rounds) > 3 * limits.repeats:
        talk.rounds.popleft()
    # Counted over a window and not only in a row, so that going to and fro between two calls is seen too.
    if Counter(talk.rounds)[talk.rounds[-1]] >= limits.repeats:
        return talk.ended("failed", f"the model loops: {limits.repeats} times the same calls with the same results")
    return None


def _cut_off(calls: list[ToolUseBlock]) -> list[dict[str, Any]] | str:
    """What the model hears after an answer that was cut: a call in it may lack its end, so none is run."""
    if not calls:
        return "Your answer was cut off at its token limit. Go on where it ended, in smaller steps."
    why = "Not run: the answer was cut off at its token limit, the call may be incomplete. Use smaller steps."
    return [{"type": "tool_result", "tool_use_id": call.id, "content": why, "is_error": True} for call in calls]


def _is_empty(block: Any) -> bool:
    """The API may answer with an empty text block and does not take one."""
    return isinstance(block, TextBlock) and not block.text


def _as_param(block: Any) -> dict[str, Any]:
    """A block of an answer as the API takes it back: the fields it came with and no others."""
    value: dict[str, Any] = block.to_dict(mode="json", exclude_unset=True)
    value.pop("parsed_output", None)
    return value


def _text(answer: Message) -> str:
    return "\n".join(block.text for block in answer.content if isinstance(block, TextBlock)).strip()
