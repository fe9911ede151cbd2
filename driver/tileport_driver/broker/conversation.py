"""READ FIRST: one exchange, from a checked request to a recorded answer. One at a time, whatever the client
does."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

from tileport_driver.broker.budget import Budget, no_price, overspent, price_of
from tileport_driver.broker.engines import Model
from tileport_driver.broker.masking import Masks
from tileport_driver.broker.refusal import Refusal
from tileport_driver.broker.streaming import Assembly, as_events
from tileport_driver.broker.transcript import Exchange, Refused, Sent, Transcript, now, request_hash
from tileport_driver.broker.validation import check_message
from tileport_driver.records import Usage

Events = asyncio.Queue[dict[str, Any] | None]


class Conversation:
    """The attempt's one conversation with the model."""

    def __init__(self, model: Model, budget: Budget, transcript: Transcript, masks: Masks) -> None:
        self._masks = masks
        self._model = model
        self._budget = budget
        self._transcript = transcript
        # Held for a whole exchange: two questions at once would each find the budget untouched, and a
        # question that is asked again while its first answer is still coming waits here and is then given
        # that answer.
        self._one_at_a_time = asyncio.Lock()

    async def exchange(
        self, request: dict[str, Any], beta: str | None, events: Events, role: str | None = None
    ) -> dict[str, Any]:
        """Puts the answer's events into the queue, and None at the end, whatever the end is; returns the
        message.

        It runs to its end even when the client has gone: what was paid for is recorded, and served when the
        client asks again.
        """
        try:
            async with self._one_at_a_time:
                return await self._exchange(request, beta, events, role)
        finally:
            events.put_nowait(None)

    async def _exchange(
        self, request: dict[str, Any], beta: str | None, events: Events, role: str | None
    ) -> dict[str, Any]:
        digest = request_hash(request)
        last = self._transcript.standing.last
        if last is not None and last.request_hash == digest:
            for event in as_events(last.response):
                events.put_nowait(event)
            return last.response
        try:
            self._afford(request, digest, role)
            return await self._answer(request, digest, beta, events, role)
        except Refusal as refusal:
            # The message is the API's and goes inside: it might name the key that it was asked with.
            refusal.message = self._masks.text(refusal.message)
            self._transcript.append(_refused(refusal, digest))
            raise

    def _afford(self, request: dict[str, Any], digest: str, role: str | None) -> None:
        """Raises `Refusal` where the budget has no room for the answer; else notes that a question goes
        out."""
        live = self._model.name == "anthropic"
        tokens, dollars = request["max_tokens"], Decimal(0)
        if live and self._budget.dollars is not None:
            price = price_of(request["model"])
            if price is None:
                raise Refusal(400, "invalid_request_error", no_price(request["model"]), final="budget")
            dollars = tokens * price.output / 1_000_000
        standing = self._transcript.standing
        if why := overspent(self._budget, standing.spent, tokens=tokens, dollars=dollars):
            # 402 is what the API itself answers when there is no more money, and no client retries it.
            raise Refusal(402, "billing_error", f"The attempt's budget is spent: {why}.", final="budget")
        own = Budget() if role is None else self._budget.of_role(role)
        if role is not None and (why := overspent(own, standing.of_role(role), tokens=tokens, dollars=dollars)):
            raise Refusal(402, "billing_error", f"The share of {role} is spent: {why}.", final="role-budget")
        if live:
            self._transcript.append(Sent(time=now(), request_hash=digest, tokens=tokens, dollars=dollars))

    async def _answer(
        self, request: dict[str, Any], digest: str, beta: str | None, events: Events, role: str | None
    ) -> dict[str, Any]:
        begun, started = now(), time.monotonic()
        position = self._transcript.standing.exchanges
        assembly = Assembly()
        try:
            async for event in self._model.answer(request, position=position, beta=beta):
                assembly.feed(event)
                if event["type"] == "message_stop":
                    # Recorded before the client can know that the answer is whole: no answer is acted on
                    # that a restarted driver would not know of.
                    seconds = time.monotonic() - started
                    record = self._record(request, digest, assembly.message(), begun, seconds)
                    self._transcript.append(replace(record, role=role))
                events.put_nowait(event)
            return assembly.message()
        except ValueError as error:
            text = f"the model's answer is no answer of the Messages API: {str(error)[:500]}"
            raise Refusal(502, "api_error", text, by="upstream") from error

    def _record(
        self, request: dict[str, Any], digest: str, message: dict[str, Any], begun: str, seconds: float
    ) -> Exchange:
        used = check_message(message).usage
        price = price_of(request["model"]) if self._model.name == "anthropic" else None
        return Exchange(
            number=self._transcript.standing.exchanges + 1,
            time=begun,
            seconds=round(seconds, 3),
            engine=self._model.name,
            request_hash=digest,
            shared=0,
            request=request,
            response=message,
            usage=Usage(
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                cache_creation_input_tokens=used.cache_creation_input_tokens or 0,
                cache_read_input_tokens=used.cache_read_input_tokens or 0,
            ),
            dollars=price.of(used) if price else Decimal(0),
        )


def _refused(refusal: Refusal, digest: str) -> Refused:
    return Refused(
        time=now(),
        request_hash=digest,
        by=refusal.by,
        final=refusal.final,
        status=refusal.status,
        error=refusal.kind,
        message=refusal.message,
    )
