"""The model, reached over the broker's Unix socket: one question in, one whole answer out, with patience
between."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import tenacity
from anthropic.types import Message

from tileport_skill.agent.wire import CONTEXT_EDITING, REFUSAL_HEADER, ROLE_HEADER, connectable


class BrokenStream(Exception):
    """The answer ended before its end."""


class Refused(Exception):
    """The broker or the API said no, and asking again would not help."""

    def __init__(self, reason: str, *, over: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.over = over
        """Nothing will be answered in this run any more, whoever asks."""


class Unreachable(Exception):
    """The model could not be reached for as long as the agent's patience lasts."""


def connect(socket: Path, token: str) -> anthropic.Anthropic:
    """The SDK's own retries are off: they give up within seconds, and a restarted driver takes minutes."""
    transport = httpx2.HTTPTransport(uds=connectable(socket), verify=False)  # no TLS on a Unix socket
    client = httpx2.Client(transport=transport, timeout=httpx2.Timeout(600.0, connect=10.0), trust_env=False)
    return anthropic.Anthropic(api_key=token, base_url="http://broker", max_retries=0, http_client=client)


class Asker:
    """Asks until there is a whole answer, a refusal, or no more patience."""

    def __init__(
        self,
        client: anthropic.Anthropic,
        *,
        patience: float,
        deadline: float,
        on_wait: Callable[[str], None],
        longest_wait: float = 20.0,
    ) -> None:
        self._client = client
        self._patience = patience
        self._deadline = deadline
        self._on_wait = on_wait
        self._backoff = tenacity.wait_random_exponential(multiplier=0.5, max=longest_wait)

    def __call__(self, request: dict[str, Any], role: str | None = None) -> Message:
        """`role`: whose conversation it is, for the broker."""
        seconds = min(self._patience, max(0.0, self._deadline - time.monotonic()))
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_pass),
            wait=self._wait,
            stop=tenacity.stop_before_delay(seconds),
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            return retrying(self._once, request, role)
        except anthropic.APIStatusError as error:
            if _may_pass(error):
                raise Unreachable(f"the API still answered {error.status_code} after {seconds:.0f} s") from error
            said = error.response.headers.get(REFUSAL_HEADER)
            raise Refused(_reason(error), over=said in ("budget", "divergence")) from error
        except (anthropic.APIError, httpx2.TransportError, BrokenStream) as error:
            raise Unreachable(f"no answer for {seconds:.0f} s: {type(error).__name__}: {error}") from error

    def _once(self, request: dict[str, Any], role: str | None) -> Message:
        # Context editing is a beta whose messages differ from the others in nothing that this agent reads, so they are
        # read as the others are, and the parameter of the beta goes into the body as it is.
        plain = {key: value for key, value in request.items() if key != "context_management"}
        editing = request.get("context_management")
        headers = {ROLE_HEADER: role} if role is not None else {}
        if editing is not None:
            headers["anthropic-beta"] = CONTEXT_EDITING
        body = None if editing is None else {"context_management": editing}
        try:
            with self._client.messages.stream(**plain, extra_headers=headers, extra_body=body) as stream:
                message = stream.get_final_message()
        except (ValueError, RuntimeError, AssertionError) as error:
            # The SDK's words for events that make no message: tool input that is no JSON, a delta before the
            # start.
            raise BrokenStream(str(error) or "the answer is empty") from error
        # A connection that closes in good order in the middle of an answer yields a message without its end.
        if message.stop_reason is None:
            raise BrokenStream("the answer ended before its end")
        return message

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.response.headers.get("retry-after", "") if isinstance(error, anthropic.APIStatusError) else ""
        return min(float(asked), 120.0) if asked.isdecimal() else self._backoff(state)

    def _tell(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        self._on_wait(f"waiting for the model after {type(error).__name__}, try {state.attempt_number}")


def _may_pass(error: BaseException) -> bool:
    """Whether the same request may well succeed later."""
    if isinstance(error, anthropic.APIStatusError):
        return REFUSAL_HEADER not in error.response.headers and (
            error.status_code in (408, 429) or error.status_code >= 500 or error.status_code == 200
        )
    return isinstance(error, anthropic.APIConnectionError | httpx2.TransportError | BrokenStream)


def _reason(error: anthropic.APIStatusError) -> str:
    match error.response.headers.get(REFUSAL_HEADER):
        case "budget":
            return f"budget spent: {error.message}"
        case "role-budget":
            return f"the role's share of the budget is spent: {error.message}"
        case "divergence":
            return f"the script no longer fits: {error.message}"
        case _:
            return f"the API refused the request ({error.status_code}): {error.message}"
