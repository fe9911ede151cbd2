"""What the broker answers when it does not answer: an error in the API's own shape."""

from __future__ import annotations

from typing import Any, Literal

from tileport_skill.agent.wire import Refused as Final

ErrorType = Literal[
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "timeout_error",
    "api_error",
    "overloaded_error",
]


class Refusal(Exception):
    """One error answer. `final` marks the broker's own last words, which the agent must not ask again
    after."""

    def __init__(
        self,
        status: int,
        kind: ErrorType,
        message: str,
        *,
        final: Final | None = None,
        by: Literal["broker", "upstream"] = "broker",
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.final = final
        self.by = by
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        return {"type": "error", "error": {"type": self.kind, "message": self.message}}
