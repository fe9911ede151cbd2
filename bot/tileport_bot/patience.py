"""Calls of GitHub's API, made again where that is safe, and never sooner than GitHub asks.

What it refuses for a rate limit was not done, so that is repeated whatever it is. An answer that is lost or a 5xx tells
nothing: reads and writes that may be made twice are repeated, of others `Unsure` is raised.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import github
import requests

from tileport_bot.github import Gone, Later, Refusal, Unsure
from tileport_skill.errors import MachineryError

T = TypeVar("T")
_TRIES = 5
_SECONDARY_SECONDS = 60.0
"""What GitHub's documentation asks for where the answer names no time."""


class Patience:
    """Waits `most` seconds in all for one call; a longer wait is left to the caller, as `Later`."""

    def __init__(
        self,
        *,
        most: float = 300.0,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.sleep = sleep
        self._most = most
        self._now = now

    def call(self, what: str, call: Callable[[], T], *, repeatable: bool, renew: Callable[[], bool]) -> T:
        """`what` names the call in errors; `renew` gets a new token, if there is one to get."""
        waited, tries, secondary = 0.0, 0, _SECONDARY_SECONDS
        while True:
            try:
                return call()
            except github.GithubException as error:
                wait = self._asked_for(error, secondary)
                if wait is not None:
                    secondary *= 2
                    if waited + wait > self._most:
                        raise Later(f"GitHub's rate limit: {what} can be done in {wait:.0f} s.", wait) from error
                elif error.status == 401 and tries == 0 and renew():
                    wait, tries = 0.0, 1
                elif error.status < 500:
                    raise final(what, error) from error
                else:
                    wait = _backoff(what, f"answered {error.status}", tries, repeatable, error)
                    tries += 1
            except (requests.RequestException, OSError, ValueError) as error:
                wait = _backoff(what, f"gave no answer ({type(error).__name__})", tries, repeatable, error)
                tries += 1
            self.sleep(wait)
            waited += wait

    def _asked_for(self, error: github.GithubException, secondary: float) -> float | None:
        """How long GitHub wants to be left alone; None if this is no rate limit."""
        if error.status not in (403, 429):
            return None
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
        if after.isdecimal():
            return float(after)
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
            return max(0.0, float(reset) - self._now()) + 1
        said = message_of(error).lower()
        return secondary if error.status == 429 or "rate limit" in said or "abuse" in said else None


def final(what: str, error: github.GithubException) -> MachineryError:
    """GitHub's refusal as an error of ours, with what it said."""
    kind = Gone if error.status in (404, 410) else Refusal
    return kind(
        f"GitHub answered {error.status} to {what}: {message_of(error) or 'no message'}. "
        "See that the token may do this, then send the event again."
    )


def message_of(error: github.GithubException) -> str:
    data = error.data if isinstance(error.data, dict) else {}
    parts = [str(data.get("message") or "")]
    for detail in data.get("errors") or ():
        if isinstance(detail, dict):
            parts.append(" ".join(str(detail[name]) for name in ("field", "code", "message") if detail.get(name)))
        else:
            parts.append(str(detail))
    return "; ".join(part for part in parts if part)[:1000]


def _backoff(what: str, how: str, tries: int, repeatable: bool, error: Exception) -> float:
    if not repeatable or tries + 1 >= _TRIES:
        raise Unsure(
            f"GitHub {how} to {what}. Nothing is known of it; it is looked for before it is done again."
        ) from error
    return float(2**tries)
