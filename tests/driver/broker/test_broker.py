"""The broker over its socket: tokens, shapes, replaying, budgets, divergence, restarts."""

from __future__ import annotations

import json
import os
import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.types import ErrorResponse
from pydantic import TypeAdapter

from tileport_driver.broker.budget import Budget
from tileport_driver.broker.transcript import Exchange, Refused, divergence, read_transcript
from tileport_driver.records import Usage
from tileport_skill.agent.wire import REFUSAL_HEADER, ROLE_HEADER, SOCKET_NAME
from tileport_skill.errors import MachineryError

LS = {"reply": [{"text": "Looking."}, {"tool": "bash", "input": {"command": "ls -l"}}]}
DONE = {"expect": {"contains": ["kernel.rs"], "is_error": False, "tool": "bash"}, "reply": [{"text": "Done."}]}


def _next(ask: dict[str, Any], reply: anthropic.types.Message, result: str, **more: Any) -> dict[str, Any]:
    """The request that follows `reply` when its tool call gave `result`."""
    call = reply.content[-1]
    assert call.type == "tool_use"
    said = [block.to_dict() for block in reply.content]
    answer = {"type": "tool_result", "tool_use_id": call.id, "content": result, **more}
    messages = [*ask["messages"], {"role": "assistant", "content": said}, {"role": "user", "content": [answer]}]
    return {**ask, "messages": messages}


def test_a_script_is_replayed_turn_by_turn_streamed_or_not(attempt: Any, ask: dict[str, Any]) -> None:
    with attempt.broker(attempt.script(LS, DONE)) as broker:
        first = attempt.sdk().messages.create(**ask)
        assert [block.type for block in first.content] == ["text", "tool_use"]
        assert (first.stop_reason, first.model) == ("tool_use", "scripted")
        assert broker.last_action() == "bash: ls -l"
        with attempt.sdk().messages.stream(**_next(ask, first, "kernel.rs")) as stream:
            assert "".join(stream.text_stream) == "Done."
            second = stream.get_final_message()
        assert second.stop_reason == "end_turn"
        assert (broker.turns(), broker.last_action(), broker.failure()) == (2, "Done.", None)
        assert broker.usage() == Usage(
            input_tokens=first.usage.input_tokens + second.usage.input_tokens,
            output_tokens=first.usage.output_tokens + second.usage.output_tokens,
        )


def test_the_token_is_taken_as_the_apis_key_is(attempt: Any, ask: dict[str, Any], token: str) -> None:
    with attempt.broker(attempt.script(LS)):
        for headers in ({"x-api-key": token}, {"authorization": f"Bearer {token}"}):
            assert attempt.raw(None).post("/v1/messages", json=ask, headers=headers).status_code == 200


@pytest.mark.parametrize("token", ["-", "wrong", "é"])
def test_a_wrong_token_is_refused_in_the_apis_shape(attempt: Any, ask: dict[str, Any], token: str) -> None:
    with attempt.broker(attempt.script(LS)) as broker:
        for headers in ({"x-api-key": token.encode()}, {"authorization": b"Bearer " + token.encode()}):
            answer = attempt.raw(None).post("/v1/messages", json=ask, headers=headers)
            assert answer.status_code == 401
            assert TypeAdapter(ErrorResponse).validate_json(answer.content).error.type == "authentication_error"
        assert broker.turns() == 0
    assert read_transcript(attempt.transcript) == ()


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/")]
)
def test_anything_else_is_not_found_in_the_apis_shape(attempt: Any, method: str, path: str) -> None:
    with attempt.broker(attempt.script(LS)):
        answer = attempt.raw().request(method, path)
    assert answer.status_code == 404
    assert TypeAdapter(ErrorResponse).validate_json(answer.content).error.type == "not_found_error"


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"NaN", b'{"model": "\\ud800"}', b"[" * 100_000, b'{"max_tokens": 1}', b"\xff"]
)
def test_a_body_that_is_no_request_is_a_400(attempt: Any, body: bytes) -> None:
    with attempt.broker(attempt.script(LS)):
        answer = attempt.raw().post("/v1/messages", content=body)
    assert answer.status_code == 400
    assert TypeAdapter(ErrorResponse).validate_json(answer.content).error.type == "invalid_request_error"


def test_a_body_over_the_limit_is_a_413(attempt: Any) -> None:
    with attempt.broker(attempt.script(LS)):
        answer = attempt.raw().post("/v1/messages", content=b" " * (32 * 1024 * 1024 + 1))
    assert answer.status_code == 413
    assert answer.json()["error"]["type"] == "request_too_large"


def test_a_question_asked_again_gets_the_recorded_answer_also_from_a_new_broker(
    attempt: Any, ask: dict[str, Any]
) -> None:
    model = attempt.script(LS, DONE)
    with attempt.broker(model):
        first = attempt.sdk().messages.create(**ask)
        again = attempt.sdk().messages.create(**ask)
    with attempt.broker(model) as broker:
        restarted = attempt.sdk().messages.create(**ask)
        assert first == again == restarted
        assert broker.turns() == 1
        attempt.sdk().messages.create(**_next(ask, restarted, "kernel.rs"))
        assert broker.turns() == 2


def test_the_record_holds_every_request_whole_and_no_message_twice(attempt: Any, ask: dict[str, Any]) -> None:
    with attempt.broker(attempt.script(LS, DONE)):
        first = attempt.sdk().messages.create(**ask)
        second = _next(ask, first, "kernel.rs")
        attempt.sdk().messages.create(**second)
    records = read_transcript(attempt.transcript)
    assert [r.request["messages"] for r in records if isinstance(r, Exchange)] == [ask["messages"], second["messages"]]
    assert [r.number for r in records if isinstance(r, Exchange)] == [1, 2]
    assert attempt.transcript.read_text().count("Port it.") == 1


def test_a_conversation_that_leaves_its_script_ends_there_and_says_where(attempt: Any, ask: dict[str, Any]) -> None:
    model = attempt.script(LS, DONE)
    with attempt.broker(model) as broker:
        first = attempt.sdk().messages.create(**ask)
        with pytest.raises(anthropic.BadRequestError) as caught:
            attempt.sdk().messages.create(**_next(ask, first, "ls: cannot open", is_error=True))
        assert caught.value.response.headers[REFUSAL_HEADER] == "divergence"
        assert broker.turns() == 1
    told = divergence(attempt.transcript)
    assert told is not None
    assert told.startswith(
        "turn 2 of script script expected the last message to contain 'kernel.rs' and to be no error"
    )
    assert told.endswith("but it is: ls: cannot open")
    with attempt.broker(model) as broker:
        assert broker.divergence() == told


def test_a_conversation_longer_than_its_script_diverges(attempt: Any, ask: dict[str, Any]) -> None:
    with attempt.broker(attempt.script(LS)):
        first = attempt.sdk().messages.create(**ask)
        with pytest.raises(anthropic.BadRequestError, match="has 1 turns and the conversation went on"):
            attempt.sdk().messages.create(**_next(ask, first, "kernel.rs"))


def test_a_spent_budget_is_a_clean_refusal_that_nobody_retries(attempt: Any, ask: dict[str, Any]) -> None:
    with attempt.broker(attempt.script(LS, DONE), Budget(tokens=150)) as broker:
        first = attempt.sdk().messages.create(**ask)
        assert first.usage.input_tokens + first.usage.output_tokens > 50
        follow = _next(ask, first, "kernel.rs")
        with pytest.raises(anthropic.APIStatusError) as caught:
            attempt.sdk().with_options(max_retries=2).messages.create(**follow)
        assert caught.value.status_code == 402
        assert caught.value.response.headers[REFUSAL_HEADER] == "budget"
        assert broker.turns() == 1
    refusals = [r for r in read_transcript(attempt.transcript) if isinstance(r, Refused)]
    assert [(r.final, r.by) for r in refusals] == [("budget", "broker")]


def test_a_roles_share_is_spent_before_the_runs_budget_and_another_role_goes_on(
    attempt: Any, ask: dict[str, Any]
) -> None:
    budget = Budget(tokens=100_000, shares={"analyzer": Decimal("0.0015")})
    with attempt.broker(attempt.script(LS, DONE), budget) as broker:
        writer, analyzer = {ROLE_HEADER: "kernel-writer"}, {ROLE_HEADER: "analyzer"}
        first = attempt.sdk().messages.create(**ask, extra_headers=analyzer)
        follow = _next(ask, first, "kernel.rs")
        with pytest.raises(anthropic.APIStatusError, match="share of analyzer is spent") as caught:
            attempt.sdk().messages.create(**follow, extra_headers=analyzer)
        assert caught.value.response.headers[REFUSAL_HEADER] == "role-budget"
        attempt.sdk().messages.create(**follow, extra_headers=writer)
        assert set(broker.roles()) == {"analyzer", "kernel-writer"}
        assert sum(spent.tokens for spent in broker.roles().values()) == broker.spent().tokens
    exchanges = [record for record in read_transcript(attempt.transcript) if isinstance(record, Exchange)]
    assert [record.role for record in exchanges] == ["analyzer", "kernel-writer"]


def test_a_role_that_is_no_short_word_is_none(attempt: Any, ask: dict[str, Any]) -> None:
    with attempt.broker(attempt.script(LS)) as broker:
        attempt.sdk().messages.create(**ask, extra_headers={ROLE_HEADER: "x" * 41})
        assert broker.roles() == {}


def test_secrets_and_the_token_never_reach_the_record(attempt: Any, ask: dict[str, Any], token: str) -> None:
    secret = "canary-0123456789abcdef"
    with attempt.broker(attempt.script(LS, DONE), masks=(secret,)):
        first = attempt.sdk().messages.create(**ask)
        leak = f"kernel.rs {secret} {secret.encode().hex()} {token}"
        with pytest.raises(anthropic.BadRequestError):
            attempt.sdk().messages.create(**_next(ask, first, leak, is_error=True))
        attempt.sdk().messages.create(**_next(ask, first, leak))
    record = attempt.transcript.read_text()
    assert "kernel.rs [masked] [masked] [masked]" in record
    for hidden in (secret, secret.encode().hex(), token):
        assert hidden not in record


@pytest.mark.parametrize("torn", [b'{"kind": "exchange", "number": 2, "tim', b"\xff", b"\n"[:0]])
def test_a_line_torn_by_a_kill_is_dropped(attempt: Any, ask: dict[str, Any], torn: bytes) -> None:
    model = attempt.script(LS, DONE)
    with attempt.broker(model):
        first = attempt.sdk().messages.create(**ask)
    with attempt.transcript.open("ab") as handle:
        handle.write(torn)
    assert len(read_transcript(attempt.transcript)) == 1
    with attempt.broker(model) as broker:
        assert broker.turns() == 1
        attempt.sdk().messages.create(**_next(ask, first, "kernel.rs"))
    assert [r.kind for r in read_transcript(attempt.transcript)] == ["exchange", "exchange"]


def test_a_line_that_is_no_record_is_named(attempt: Any) -> None:
    attempt.transcript.write_text('{"kind": "wish"}\n')
    with pytest.raises(MachineryError, match=r"transcript\.jsonl, line 1, is no record of ours"):
        attempt.broker(attempt.script(LS)).__enter__()


def test_a_second_broker_on_the_same_attempt_is_refused(attempt: Any) -> None:
    with attempt.broker(attempt.script(LS)), pytest.raises(MachineryError, match="another driver serves"):
        attempt.broker(attempt.script(LS)).__enter__()


def test_a_record_that_cannot_be_written_is_no_answer(attempt: Any, ask: dict[str, Any]) -> None:
    import resource

    with attempt.broker(attempt.script(LS)) as broker:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        # The kernel refuses to let any file grow past 100 bytes, as a full disk would.
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
        try:
            with pytest.raises(anthropic.InternalServerError, match="cannot be written"):
                attempt.sdk().messages.create(**ask)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert "Free space" in (broker.failure() or "")
        assert attempt.transcript.read_bytes() == b""
        assert attempt.sdk().messages.create(**ask).stop_reason == "tool_use"
        assert (broker.failure(), broker.turns()) == (None, 1)


def test_the_socket_is_only_for_its_user_and_is_taken_away(attempt: Any) -> None:
    path = attempt.socket_dir / SOCKET_NAME
    with attempt.broker(attempt.script(LS)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.stat().st_uid == os.getuid()
        assert stat.S_IMODE(attempt.socket_dir.stat().st_mode) == 0o711
    assert list(attempt.socket_dir.iterdir()) == []


def test_a_socket_left_by_a_killed_driver_is_replaced(attempt: Any, ask: dict[str, Any]) -> None:
    attempt.socket_dir.mkdir()
    (attempt.socket_dir / SOCKET_NAME).write_text("in the way")
    with attempt.broker(attempt.script(LS)):
        assert attempt.sdk().messages.create(**ask).stop_reason == "tool_use"


def test_a_path_longer_than_a_socket_address_works(attempt: Any, ask: dict[str, Any], tmp_path: Path) -> None:
    from tileport_skill.agent.client import connect

    attempt.root = tmp_path / ("long" * 40)
    attempt.root.mkdir()
    with attempt.broker(attempt.script(LS)):
        client = connect(attempt.socket_dir / SOCKET_NAME, "throw-away-token-of-one-attempt")
        assert client.messages.create(**ask).stop_reason == "tool_use"


def test_every_line_of_the_record_is_one_document(attempt: Any, ask: dict[str, Any]) -> None:
    with attempt.broker(attempt.script({"reply": [{"text": "two\u2028lines\x85and\rmore"}]})):
        attempt.sdk().messages.create(**ask)
    lines = attempt.transcript.read_bytes().split(b"\n")
    assert [json.loads(line)["kind"] for line in lines if line] == ["exchange"]
    assert len(read_transcript(attempt.transcript)) == 1
