"""GitHub's rate limits: the primary one with its headers, the secondary one for writes, and who disobeys them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.bot.fakegithub.call import DOCS, Answer, Refuse
from tests.bot.fakegithub.faults import Limited


@dataclass
class Limits:
    limit: int = 5000
    used: int = 0
    reset: float = 0.0
    writes_per_minute: int | None = None
    """GitHub allows 80 writes that make content; None is no limit."""
    disobeyed: list[str] = field(default_factory=list)
    """Requests made while GitHub had said to wait."""
    _writes: list[float] = field(default_factory=list)
    _closed_until: float = 0.0

    def headers(self, now: float) -> dict[str, str]:
        if now >= self.reset:
            self.reset, self.used = now + 3600, 0
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - self.used)),
            "X-RateLimit-Used": str(self.used),
            "X-RateLimit-Reset": str(int(self.reset)),
            "X-RateLimit-Resource": "core",
        }

    def overview(self, now: float) -> Answer:
        self.headers(now)
        rate = {
            "limit": self.limit,
            "used": self.used,
            "remaining": max(0, self.limit - self.used),
            "reset": int(self.reset),
        }
        return Answer(200, {"resources": {"core": rate, "search": rate}, "rate": rate})

    def admit(self, method: str, path: str, now: float) -> None:
        """Raises when the caller must wait."""
        self.headers(now)
        if now < self._closed_until:
            self.disobeyed.append(f"{method} {path}")
        if self.used >= self.limit:
            raise Refuse(403, "API rate limit exceeded for installation ID 1.")
        self.used += 1
        if method == "GET" or self.writes_per_minute is None:
            return
        self._writes = [at for at in self._writes if at > now - 60]
        if len(self._writes) >= self.writes_per_minute:
            wait = int(60 - (now - self._writes[0])) + 1
            self._closed_until = now + wait
            refusal = Refuse(403, "You have exceeded a secondary rate limit. Please wait a few minutes.")
            refusal.answer.headers["Retry-After"] = str(wait)
            raise refusal
        self._writes.append(now)

    def close(self, limited: Limited, now: float) -> dict[str, str]:
        """What a fault of this kind says in its headers; asking before the time is over is noted."""
        if limited.reset_in is not None:
            self._closed_until = now + limited.reset_in
            return {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(now + limited.reset_in) + 1)}
        self._closed_until = now + (limited.retry_after or 0)
        return {} if limited.retry_after is None else {"Retry-After": str(limited.retry_after)}


def unauthorized() -> Answer:
    return Answer(401, {"message": "Bad credentials", "documentation_url": DOCS, "status": "401"})
