"""The one webhook route: who sent it is proved, what was sent is kept, and only then GitHub gets its answer.

Nothing is done here that could take long: GitHub waits ten seconds and never delivers again by itself. Only SHA-256
signatures count; gidgethub, which reads the event, would take SHA-1 where that is all there is.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import structlog
from gidgethub import BadRequest, ValidationFailure, sansio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from tileport_bot import inbox
from tileport_bot.inbox import Delivery
from tileport_skill.errors import MachineryError, RequestError

log = structlog.get_logger()

MOST_BYTES = 8 * 1024 * 1024
"""GitHub sends up to 25 MiB, but nothing near it about labels, comments, pushes or pull requests."""

EVENTS = frozenset({"issues", "issue_comment", "pull_request", "push"})
"""Others are answered and not kept."""

_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}", re.ASCII)
_MOST_AT_ONCE = 200


class Refused(Exception):
    """A delivery that is not taken, with the status that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def read_secrets(text: str) -> tuple[str, ...]:
    """The webhook's secrets, separated by commas while one is changed for another. Raises `RequestError` on none."""
    secrets = tuple(part.strip() for part in text.split(","))
    if not all(secrets):
        raise RequestError(
            "The webhook's secret is empty: anybody could send events. Set TILEPORT_WEBHOOK_SECRET to the secret that "
            "is set at GitHub (`openssl rand -hex 32` makes one); two, with a comma between, while they change."
        )
    return secrets


def verified(headers: Any, body: bytes, secrets: Sequence[str]) -> sansio.Event:
    """The event, if one of the secrets signed it. Raises `Refused`."""
    signature = headers.get("x-hub-signature-256", "")
    if not _SIGNATURE.fullmatch(signature):
        raise Refused(401, "X-Hub-Signature-256 is missing or is none")
    if not headers.get("content-type", "").startswith("application/json"):
        raise Refused(415, "send JSON (content type application/json)")
    wanted = {name: headers.get(name, "") for name in ("content-type", "x-github-event", "x-github-delivery")}
    for secret in secrets:
        with contextlib.suppress(ValidationFailure):
            try:
                event = sansio.Event.from_http({**wanted, "x-hub-signature-256": signature}, body, secret=secret)
            except (BadRequest, ValueError, RecursionError):
                raise Refused(400, "the body is no JSON") from None
            if not event.event or not event.delivery_id or len(event.delivery_id) > 200:
                raise Refused(400, "X-GitHub-Event or X-GitHub-Delivery is missing")
            return event
    raise Refused(401, "the signature is not ours")


def delivery_of(event: sansio.Event) -> Delivery | None:
    """What is kept of it; None for an event that nothing is done about. Raises `Refused` if it is about nothing."""
    if event.event not in EVENTS:
        return None
    data = event.data
    repository = data.get("repository") if isinstance(data, dict) else None
    name = repository.get("full_name") if isinstance(repository, dict) else None
    if not isinstance(name, str) or not _REPOSITORY.fullmatch(name):
        raise Refused(400, "the event names no repository")
    what = data.get("issue") or data.get("pull_request")
    number = what.get("number") if isinstance(what, dict) else None
    return Delivery(
        id=event.delivery_id,
        event=event.event,
        about=f"{name}#{number}" if isinstance(number, int) else name,
        body=json.dumps(data),
    )


class Receiver:
    """Keeps what comes in. Deliveries that arrive while the disk is busy are written together, by one thread."""

    def __init__(self, secrets: Sequence[str], keep: Callable[[Sequence[Delivery], float], None] = inbox.keep) -> None:
        self._secrets = secrets
        self._keep = keep
        self._waiting: list[tuple[Delivery, asyncio.Future[None]]] = []
        self._arrived = asyncio.Event()

    async def receive(self, request: Request) -> Response:
        """The route."""
        try:
            body = await _body(request)
            event = verified(request.headers, body, self._secrets)
            delivery = delivery_of(event)
            if delivery is not None:
                await self._kept(delivery)
        except Refused as refused:
            log.info("refused", status=refused.status, why=str(refused))
            return PlainTextResponse(f"{refused}\n", refused.status)
        except ClientDisconnect:
            return PlainTextResponse("", 400)
        except MachineryError as error:
            # Not kept, so not accepted: GitHub lists it as failed, and the sweep finds what it asked for.
            log.error("not kept", error=str(error))
            return PlainTextResponse("it could not be kept; try again\n", 503)
        return PlainTextResponse("kept\n" if delivery else f"nothing is done on {event.event}\n", 202)

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """While this is open, what arrives is written."""
        task = asyncio.create_task(self._write())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _kept(self, delivery: Delivery) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((delivery, future))
        self._arrived.set()
        await future

    async def _write(self) -> None:
        while True:
            await self._arrived.wait()
            batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            if not self._waiting:
                self._arrived.clear()
            error: Exception | None = None
            try:
                await asyncio.to_thread(self._keep, [delivery for delivery, _ in batch], time.time())
            except Exception as failed:  # told to each sender, never to the next batch
                error = failed if isinstance(failed, MachineryError) else MachineryError(repr(failed))
            for _, future in batch:
                if not future.done():
                    future.set_exception(error) if error else future.set_result(None)


async def _body(request: Request) -> bytes:
    """Never more than is allowed, whatever the length says."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MOST_BYTES:
        raise Refused(413, f"at most {MOST_BYTES} bytes")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise Refused(413, f"at most {MOST_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)
