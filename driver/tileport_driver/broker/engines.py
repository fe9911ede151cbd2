"""The two models behind the broker: one that replays a script and one that calls the real API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Protocol

import anthropic
from anthropic.types import ErrorResponse, RawMessageStreamEvent
from pydantic import TypeAdapter, ValidationError

from tileport_driver.broker.refusal import Refusal
from tileport_driver.broker.script import Call, Script, Turn, misfit
from tileport_driver.broker.streaming import as_events
from tileport_driver.records import EngineName

_BYTES_PER_TOKEN = 4
_ERROR: TypeAdapter[ErrorResponse] = TypeAdapter(ErrorResponse)


class Model(Protocol):
    """What answers. It raises `Refusal` for an error that the client shall see."""

    @property
    def name(self) -> EngineName: ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be written down."""

    def answer(self, request: dict[str, Any], *, position: int, beta: str | None) -> AsyncIterator[dict[str, Any]]:
        """The events of one answer. `position` is the number of exchanges before it, `beta` the client's
        `anthropic-beta` header."""


class ScriptedModel:
    """Replays a script. Its usage is made up: a token for every four bytes of JSON, the same on every run."""

    name: EngineName = "scripted"
    secrets: tuple[str, ...] = ()

    def __init__(self, script: Script) -> None:
        self._script = script

    async def answer(
        self, request: dict[str, Any], *, position: int, beta: str | None
    ) -> AsyncIterator[dict[str, Any]]:
        if why := misfit(self._script, position, request):
            raise Refusal(400, "invalid_request_error", why, final="divergence")
        for event in as_events(scripted_message(self._script.turns[position], position, request)):
            yield event


def scripted_message(turn: Turn, position: int, request: dict[str, Any]) -> dict[str, Any]:
    """The answer that a turn of a script is."""
    content: list[dict[str, Any]] = []
    for number, part in enumerate(turn.reply, 1):
        if isinstance(part, Call):
            name = f"toolu_scripted_{position + 1}_{number}"
            content.append({"type": "tool_use", "id": name, "name": part.tool, "input": part.input})
        else:
            content.append({"type": "text", "text": part.text})
    return {
        "id": f"msg_scripted_{position + 1}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": content,
        "stop_reason": turn.stop,
        "stop_sequence": None,
        "usage": {"input_tokens": _tokens(request), "output_tokens": _tokens(content)},
    }


def _tokens(value: Any) -> int:
    return -(-len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


class LiveModel:
    """Calls the Messages API. Adds the key, streams always, and leaves retrying to the client.

    Proved against a strict stand-in on this machine only; never yet against the real API.
    """

    name: EngineName = "anthropic"

    def __init__(self, api_key: str, base_url: str = "https://api.anthropic.com") -> None:
        self.secrets = (api_key,)
        self._key = api_key
        self._base_url = base_url
        self._client: anthropic.AsyncAnthropic | None = None

    async def answer(
        self, request: dict[str, Any], *, position: int, beta: str | None
    ) -> AsyncIterator[dict[str, Any]]:
        if self._client is None:
            # Made here, as it belongs to the event loop it is first used in.
            self._client = anthropic.AsyncAnthropic(api_key=self._key, base_url=self._base_url, max_retries=0)
        try:
            # The body goes out as it came; `create` would rebuild it from its own signature.
            stream = await self._client.post(
                "/v1/messages",
                body={**request, "stream": True},
                options={"headers": {"anthropic-beta": beta} if beta else {}},
                cast_to=anthropic.types.Message,
                stream=True,
                stream_cls=anthropic.AsyncStream[RawMessageStreamEvent],
            )
            async with stream:
                async for event in stream:
                    yield event.to_dict(mode="json")
        except anthropic.APIStatusError as error:
            raise _passed_on(error) from error
        except anthropic.APIConnectionError as error:
            raise Refusal(
                502, "api_error", f"the API cannot be reached: {type(error).__name__}", by="upstream"
            ) from error


def _passed_on(error: anthropic.APIStatusError) -> Refusal:
    """The API's own error, with its status; 529 for one that came in the middle of a stream."""
    status = error.status_code if error.status_code >= 400 else 529
    try:
        said = _ERROR.validate_python(error.body).error
    except ValidationError:
        text = f"the API answered {status} with a body that is no error of its own"
        return Refusal(502, "api_error", text, by="upstream")
    after = error.response.headers.get("retry-after")
    return Refusal(status, said.type, said.message, by="upstream", retry_after=after)
