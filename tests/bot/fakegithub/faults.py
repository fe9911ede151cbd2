"""Failures on demand: what a test wants to go wrong, where, how often, and what GitHub says then."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from tests.bot.fakegithub.call import DOCS, Answer


class Kind(Enum):
    BAD_GATEWAY_BEFORE = auto()
    """502, and nothing was written."""
    BAD_GATEWAY_AFTER = auto()
    """502, although the write was made."""
    LOST_BEFORE = auto()
    """The connection ends without an answer; nothing was written."""
    LOST_AFTER = auto()
    """The connection ends without an answer, although the write was made."""
    HANG_BEFORE = auto()
    """No answer for `seconds`, then none at all; nothing was written."""
    HANG_AFTER = auto()
    """The write is made, then no answer for `seconds`, then none at all."""
    SLOW = auto()
    """The right answer, `seconds` late."""
    SERVER_ERROR = auto()
    UNAVAILABLE = auto()
    UNAUTHORIZED = auto()
    FORBIDDEN = auto()
    NOT_FOUND = auto()
    PRIMARY_LIMIT_403 = auto()
    PRIMARY_LIMIT_429 = auto()
    """Nothing remains until the reset, `seconds` from now."""
    SECONDARY_LIMIT_403 = auto()
    SECONDARY_LIMIT_429 = auto()
    """With a Retry-After of `seconds`."""
    SECONDARY_LIMIT_SILENT = auto()
    """403 without Retry-After: GitHub asks to wait a minute at least."""
    TRUNCATED = auto()
    """Half of the answer's bytes, then the end of the connection."""
    NOT_JSON = auto()
    """An HTML page from something before GitHub."""


AFTER = {Kind.BAD_GATEWAY_AFTER, Kind.LOST_AFTER, Kind.HANG_AFTER, Kind.SLOW, Kind.TRUNCATED}
"""Here the request is served before it goes wrong."""

NO_ANSWER = {Kind.LOST_BEFORE, Kind.LOST_AFTER, Kind.HANG_BEFORE, Kind.HANG_AFTER}


class Limited(NamedTuple):
    """A refusal for asking too much, as far as headers tell."""

    retry_after: int | None
    reset_in: float | None


@dataclass
class Fault:
    kind: Kind
    method: str = ".*"
    path: str = ".*"
    """Regular expressions that must match the whole."""
    times: int = 1
    skip: int = 0
    """So many matching requests pass before it."""
    seconds: float = 5

    def meets(self, method: str, path: str) -> bool:
        return bool(re.fullmatch(self.method, method) and re.fullmatch(self.path, path))


@dataclass
class Faults:
    waiting: list[Fault] = field(default_factory=list)
    hidden_heads: int = 0
    """So many times GitHub does not see a branch that was pushed: refs answer 404, a new pull request 422."""

    def add(
        self, kind: Kind, method: str = ".*", path: str = ".*", *, times: int = 1, skip: int = 0, seconds: float = 5
    ) -> None:
        self.waiting.append(Fault(kind, method, path, times, skip, seconds))

    def take(self, method: str, path: str) -> Fault | None:
        for fault in self.waiting:
            if not fault.meets(method, path):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            fault.times -= 1
            if not fault.times:
                self.waiting.remove(fault)
            return fault
        return None

    def hides_head(self) -> bool:
        if not self.hidden_heads:
            return False
        self.hidden_heads -= 1
        return True


_SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


def limited_by(fault: Fault) -> Limited | None:
    match fault.kind:
        case Kind.PRIMARY_LIMIT_403 | Kind.PRIMARY_LIMIT_429:
            return Limited(None, fault.seconds)
        case Kind.SECONDARY_LIMIT_403 | Kind.SECONDARY_LIMIT_429:
            return Limited(int(fault.seconds), None)
        case Kind.SECONDARY_LIMIT_SILENT:
            return Limited(None, None)
    return None


def failure(fault: Fault) -> Answer:
    """GitHub's words for it; for those kinds that say anything."""
    simple = {
        Kind.BAD_GATEWAY_BEFORE: (502, "Server Error"),
        Kind.BAD_GATEWAY_AFTER: (502, "Server Error"),
        Kind.SERVER_ERROR: (500, "Server Error"),
        Kind.UNAVAILABLE: (503, "Service Unavailable"),
        Kind.UNAUTHORIZED: (401, "Bad credentials"),
        Kind.FORBIDDEN: (403, "Resource not accessible by integration"),
        Kind.NOT_FOUND: (404, "Not Found"),
        Kind.PRIMARY_LIMIT_403: (403, "API rate limit exceeded for installation ID 1."),
        Kind.PRIMARY_LIMIT_429: (429, "API rate limit exceeded for installation ID 1."),
        Kind.SECONDARY_LIMIT_403: (403, _SECONDARY),
        Kind.SECONDARY_LIMIT_429: (429, _SECONDARY),
        Kind.SECONDARY_LIMIT_SILENT: (403, _SECONDARY),
        Kind.NOT_JSON: (502, "<html><body>502 Bad Gateway</body></html>"),
    }
    status, message = simple[fault.kind]
    return Answer(status, {"message": message, "documentation_url": DOCS, "status": str(status)})
