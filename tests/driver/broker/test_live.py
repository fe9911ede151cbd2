"""The live engine against a strict stand-in of the API on this machine; the real API has not been called."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import anthropic
import pytest

from tileport_driver.broker.budget import Budget
from tileport_driver.broker.engines import LiveModel
from tileport_driver.broker.transcript import Exchange, Sent, now, read_transcript
from tileport_driver.records import Usage
from tileport_skill.agent.client import Asker, connect
from tileport_skill.agent.loop import CONTEXT
from tileport_skill.agent.wire import CONTEXT_EDITING, ROLE_HEADER, SOCKET_NAME


def _live(stand_in: Any) -> LiveModel:
    return LiveModel(stand_in.key, stand_in.url)


def test_the_key_is_added_outside_and_the_request_goes_out_as_it_came(
    attempt: Any, stand_in: Any, ask: dict[str, Any], answer: Any, token: str
) -> None:
    stand_in.answers = [answer("hello")]
    with attempt.broker(_live(stand_in)) as broker:
        said = attempt.sdk().messages.create(**ask, extra_headers={"anthropic-beta": "context-management-2025-06-27"})
        assert said.content[0].text == "hello"
        assert broker.usage() == Usage(input_tokens=10, output_tokens=20)
    assert stand_in.requests == [{**ask, "stream": True}]
    sent = stand_in.headers[0]
    assert sent["authorization"] == f"Bearer {stand_in.key}"
    assert sent["anthropic-beta"] == "context-management-2025-06-27"
    assert sent["anthropic-version"]
    assert token not in str(sent)
    assert stand_in.key not in attempt.transcript.read_text()


def test_the_agents_own_request_goes_out_whole_with_its_beta_and_without_its_role(
    attempt: Any, stand_in: Any, ask: dict[str, Any], answer: Any, token: str
) -> None:
    stand_in.answers = [answer("hello")]
    asked = {**ask, "context_management": CONTEXT}
    with attempt.broker(_live(stand_in)) as broker:
        client = connect(attempt.socket_dir / SOCKET_NAME, token)
        asker = Asker(client, patience=5, deadline=time.monotonic() + 60, on_wait=print)
        assert asker(asked, "kernel-writer").stop_reason == "end_turn"
        assert list(broker.roles()) == ["kernel-writer"]
    assert stand_in.requests == [{**asked, "stream": True}]
    assert stand_in.headers[0]["anthropic-beta"] == CONTEXT_EDITING
    assert ROLE_HEADER not in stand_in.headers[0]


def test_streaming_passes_through(attempt: Any, stand_in: Any, ask: dict[str, Any], answer: Any) -> None:
    tool = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    stand_in.answers = [
        {**answer("hello"), "content": [thought, *answer("hi")["content"], tool], "stop_reason": "tool_use"}
    ]
    with attempt.broker(_live(stand_in)), attempt.sdk().messages.stream(**ask) as stream:
        said = stream.get_final_message()
    assert [block.type for block in said.content] == ["thinking", "text", "tool_use"]
    assert said.content[2].input == {"command": "ls"}
    exchange = read_transcript(attempt.transcript)[-1]
    assert isinstance(exchange, Exchange)
    assert exchange.response["content"] == [thought, {"type": "text", "text": "hi"}, tool]


@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limit_error"), (529, "overloaded_error"), (500, "api_error")])
def test_an_error_of_the_api_reaches_the_client_as_it_is(
    attempt: Any, stand_in: Any, ask: dict[str, Any], answer: Any, status: int, kind: str
) -> None:
    stand_in.answers = [(status, kind, {"retry-after": "7"}), answer("later")]
    with attempt.broker(_live(stand_in)) as broker:
        with pytest.raises(anthropic.APIStatusError, match=f"told {status}") as caught:
            attempt.sdk().messages.create(**ask)
        assert (caught.value.status_code, caught.value.response.headers["retry-after"]) == (status, "7")
        assert f"The API answered {status}" in (broker.failure() or "")
        assert attempt.sdk().messages.create(**ask).content[0].text == "later"
        assert (broker.failure(), broker.spent().lost_tokens) == (None, 0)
    assert [r.kind for r in read_transcript(attempt.transcript)] == ["sent", "refused", "sent", "exchange"]


def test_a_question_asked_again_while_it_is_being_answered_is_paid_for_once(
    attempt: Any, stand_in: Any, ask: dict[str, Any], answer: Any
) -> None:
    stand_in.answers = [answer("once")]
    with attempt.broker(_live(stand_in)) as broker, ThreadPoolExecutor(8) as pool:
        clients = [attempt.sdk() for _ in range(8)]
        answers = list(pool.map(lambda client: client.messages.create(**ask), clients))
        assert broker.turns() == 1
    assert {said.content[0].text for said in answers} == {"once"}
    assert len(stand_in.requests) == 1


@pytest.mark.parametrize("events", [0, 1, 3, 5])
def test_a_stream_that_breaks_off_is_an_error_and_no_exchange(
    attempt: Any, stand_in: Any, ask: dict[str, Any], answer: Any, events: int
) -> None:
    stand_in.answers = [events, answer("whole")]
    with attempt.broker(_live(stand_in)) as broker:
        with pytest.raises(anthropic.APIStatusError), attempt.sdk().messages.stream(**ask) as stream:
            stream.get_final_message()
        assert broker.turns() == 0
        with attempt.sdk().messages.stream(**ask) as stream:
            assert stream.get_final_message().content[0].text == "whole"


def test_a_key_that_the_api_does_not_take_is_our_failure(attempt: Any, stand_in: Any, ask: dict[str, Any]) -> None:
    with attempt.broker(LiveModel("sk-wrong", stand_in.url)) as broker:
        with pytest.raises(anthropic.AuthenticationError):
            attempt.sdk().messages.create(**ask)
        assert "Set ANTHROPIC_API_KEY" in (broker.failure() or "")


def test_an_api_that_cannot_be_reached_is_a_502_without_the_key(attempt: Any, ask: dict[str, Any]) -> None:
    with (
        attempt.broker(LiveModel("sk-secret", "http://127.0.0.1:9")),
        pytest.raises(anthropic.InternalServerError, match="cannot be reached") as caught,
    ):
        attempt.sdk().messages.create(**ask)
    assert caught.value.status_code == 502
    assert "sk-secret" not in attempt.transcript.read_text()


def test_money_is_counted_by_the_apis_own_usage_and_kept_within_the_budget(
    attempt: Any, stand_in: Any, ask: dict[str, Any], answer: Any
) -> None:
    stand_in.answers = [answer("a", cache_read_input_tokens=1000), answer("b")]
    # An answer of `ask` costs at most 100 * 25 dollars a million, 0.0025.
    with attempt.broker(_live(stand_in), Budget(dollars=Decimal("0.0035"))) as broker:
        attempt.sdk().messages.create(**ask)
        assert broker.spent().dollars == Decimal("0.00105")
        with pytest.raises(anthropic.APIStatusError, match="US dollars are spent"):
            attempt.sdk().messages.create(**{**ask, "max_tokens": 99})
    assert len(stand_in.requests) == 1


def test_a_money_budget_for_a_model_without_a_price_is_refused_by_name(
    attempt: Any, stand_in: Any, ask: dict[str, Any]
) -> None:
    with (
        attempt.broker(_live(stand_in), Budget(dollars=Decimal(1))),
        pytest.raises(anthropic.BadRequestError, match="No price is known for the model claude-unheard-of"),
    ):
        attempt.sdk().messages.create(**{**ask, "model": "claude-unheard-of"})
    assert stand_in.requests == []


def test_a_question_whose_answer_died_with_the_driver_still_counts(
    attempt: Any, stand_in: Any, ask: dict[str, Any], answer: Any
) -> None:
    with attempt.broker(_live(stand_in)) as broker:
        # What a driver leaves that is killed between sending and hearing.
        broker._transcript.append(Sent(time=now(), request_hash="h", tokens=100, dollars=Decimal("0.0025")))
    stand_in.answers = [answer("a")]
    with attempt.broker(_live(stand_in), Budget(tokens=230)) as broker:
        assert (broker.spent().lost_tokens, broker.spent().lost_dollars) == (100, Decimal("0.0025"))
        attempt.sdk().messages.create(**ask)
        with pytest.raises(anthropic.APIStatusError, match="130 of 230 tokens are spent"):
            attempt.sdk().messages.create(**{**ask, "max_tokens": 101})
