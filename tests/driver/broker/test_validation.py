"""Requests are held against the SDK's own types, and the error names the field."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tileport_driver.broker.refusal import Refusal
from tileport_driver.broker.validation import check_event, check_message, check_request
from tileport_skill.agent.loop import CONTEXT
from tileport_skill.agent.wire import CONTEXT_EDITING

RIGHT: dict[str, Any] = {
    "model": "claude-opus-5",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "tools": [
        {"type": "bash_20250124", "name": "bash"},
        {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
    ],
    "messages": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a", "is_error": False}]},
    ],
}


def _with(path: str, value: Any) -> dict[str, Any]:
    body = copy.deepcopy(RIGHT)
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    target: Any = body
    for part in way:
        target = target[part]
    target[last] = value
    return body


def test_a_right_request_passes_as_it_came() -> None:
    assert check_request(copy.deepcopy(RIGHT)) == RIGHT
    assert check_request({**RIGHT, "stream": True})["stream"] is True


@pytest.mark.parametrize(
    ("path", "value", "names"),
    [
        ("surprise", 1, "surprise: Extra inputs are not permitted"),
        ("max_tokens", "100", "max_tokens: "),
        ("stream", "yes", "stream: "),
        ("messages.0.role", "usr", "messages.0.role: "),
        ("messages.0.content", 7, "messages.0.content"),
        ("messages.2.content.0.content", [{"type": "text", "text": 3}], "messages.2.content.0.content.0.text: "),
        ("messages.2.content.0.is_eror", True, "messages.2.content.0.is_eror: Extra inputs"),
        ("tools.0.type", "bash_1999", "tools.0.type: "),
        ("system.0.cache_control.type", "forever", "system.0.cache_control.type: "),
        ("messages.0.content", "", "messages.0.content.0.text: text content blocks must be non-empty"),
        ("messages.0.role", "assistant", "messages: the first message must be the user's"),
        ("messages.2.content.0.tool_use_id", "t2", "messages.2: tool_use t1 has no tool_result"),
    ],
)
def test_what_is_wrong_is_refused_by_name(path: str, value: Any, names: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_request(_with(path, value))
    assert caught.value.status == 400
    assert caught.value.kind == "invalid_request_error"
    assert caught.value.message.startswith(names)


def test_a_required_field_that_is_missing_is_named() -> None:
    body = copy.deepcopy(RIGHT)
    del body["max_tokens"]
    with pytest.raises(Refusal, match="max_tokens: Field required"):
        check_request(body)


def test_a_call_at_the_end_without_its_result_is_refused() -> None:
    with pytest.raises(Refusal, match="tool_use t1 has no tool_result"):
        check_request({**RIGHT, "messages": RIGHT["messages"][:2]})


def test_more_than_four_cache_breakpoints_are_refused_and_a_tools_own_input_holds_none() -> None:
    marked = [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}] * 4
    call = _with("messages.1.content.0.input", {"cache_control": {"type": "mine"}})
    assert check_request({**call, "system": marked})
    with pytest.raises(Refusal, match="cache_control: 5 breakpoints"):
        check_request({**RIGHT, "system": marked, "cache_control": {"type": "ephemeral"}})


def test_answers_and_events_of_no_known_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="stop_reason"):
        check_message(
            {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "bored"}
        )
    with pytest.raises(ValueError, match="message_begin"):
        check_event({"type": "message_begin"})


def test_the_agents_context_editing_is_what_the_sdks_beta_types_say() -> None:
    body = {**RIGHT, "context_management": CONTEXT}
    assert check_request(body, CONTEXT_EDITING) is body
    with pytest.raises(Refusal, match="context_management"):
        check_request(body)


@pytest.mark.parametrize(
    ("path", "value", "names"),
    [
        ("kep", 1, r"context_management\.edits\.0\.kep"),
        ("trigger", {"type": "input_tokens", "value": "many"}, r"edits\.0\.trigger\.value"),
        ("type", "clear_everything", r"edits\.0\.type"),
    ],
)
def test_context_editing_of_another_shape_is_refused_by_name(path: str, value: Any, names: str) -> None:
    editing: Any = copy.deepcopy(CONTEXT)
    editing["edits"][0][path] = value
    with pytest.raises(Refusal, match=names):
        check_request({**RIGHT, "context_management": editing}, CONTEXT_EDITING)
