"""The broker over HTTP: token, body, types, then the conversation; answers as one message or as server-sent
events."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator
from typing import Any

import structlog
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tileport_driver.broker.conversation import Conversation, Events
from tileport_driver.broker.refusal import Refusal
from tileport_driver.broker.validation import check_request
from tileport_skill.agent.wire import REFUSAL_HEADER, ROLE_HEADER
from tileport_skill.errors import MachineryError

_MAX_BODY = 32 * 1024 * 1024
"""The API's own limit."""

_log = structlog.get_logger(__name__)


def build_app(conversation: Conversation, token: str) -> Starlette:
    """One route. Anything else is 404 in the API's own shape."""
    running: set[asyncio.Task[dict[str, Any]]] = set()

    async def messages(request: Request) -> Response:
        if not _holds(request, token):
            text = "invalid x-api-key or bearer token: give the attempt's broker token"
            raise Refusal(401, "authentication_error", text)
        beta = request.headers.get("anthropic-beta")
        asked = check_request(_parsed(await _body(request)), beta)
        events: Events = asyncio.Queue()
        task = asyncio.create_task(conversation.exchange(asked, beta, events, _role(request)))
        # The loop itself keeps no hold on its tasks, and this one outlives a client that goes away.
        running.add(task)
        task.add_done_callback(running.discard)
        if not asked.get("stream"):
            return JSONResponse(await asyncio.shield(task))
        first = await events.get()
        if first is None:
            await task
        return StreamingResponse(_as_sent(first, events, task), media_type="text/event-stream")

    return Starlette(
        routes=[Route("/v1/messages", messages, methods=["POST"])],
        exception_handlers={
            Refusal: _refusal,
            HTTPException: _no_such_thing,
            MachineryError: _machinery,
            Exception: _bug,
        },
    )


def _role(request: Request) -> str | None:
    """A name to record and to keep accounts by; anything else than a short word is none."""
    given = request.headers.get(ROLE_HEADER, "")
    return given if re.fullmatch(r"[a-z-]{1,40}", given) else None


def _holds(request: Request, token: str) -> bool:
    """The API takes a key as `x-api-key` or as a bearer token; the SDK sends the latter since its 2.x."""
    given = request.headers.get("x-api-key")
    if given is None:
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
    return secrets.compare_digest(given.encode(), token.encode())


async def _as_sent(
    first: dict[str, Any] | None, events: Events, task: asyncio.Task[dict[str, Any]]
) -> AsyncIterator[bytes]:
    event = first
    while event is not None:
        yield _frame(event["type"], event)
        event = await events.get()
    try:
        await asyncio.shield(task)
    except Refusal as refusal:
        # The status line is long gone; the API says it in an event of its own.
        yield _frame("error", refusal.body())
    except MachineryError as error:
        yield _frame("error", Refusal(500, "api_error", str(error)).body())


def _frame(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _MAX_BODY:
            raise Refusal(413, "request_too_large", f"the request has more than {_MAX_BODY} bytes")
        parts.append(part)
    return b"".join(parts)


def _parsed(body: bytes) -> Any:
    try:
        # Not the standard library's parser: it lets through NaN and halves of surrogate pairs, which could
        # not be read back from the transcript.
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal(400, "invalid_request_error", f"request: not valid JSON: {error}") from error


def _answer(refusal: Refusal) -> Response:
    headers: dict[str, str] = {REFUSAL_HEADER: refusal.final} if refusal.final else {}
    if refusal.retry_after:
        headers["retry-after"] = refusal.retry_after
    return JSONResponse(refusal.body(), status_code=refusal.status, headers=headers)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _answer(error)


async def _no_such_thing(request: Request, error: Exception) -> Response:
    text = f"{request.method} {request.url.path}: the broker serves POST /v1/messages only"
    return _answer(Refusal(404, "not_found_error", text))


async def _machinery(request: Request, error: Exception) -> Response:
    # 500 is retried, so an attempt whose disk was full for a while goes on.
    return _answer(Refusal(500, "api_error", str(error)))


async def _bug(request: Request, error: Exception) -> Response:
    _log.error("broker failed", path=request.url.path, exc_info=error)
    return _answer(Refusal(500, "api_error", f"the broker failed: {type(error).__name__}"))
