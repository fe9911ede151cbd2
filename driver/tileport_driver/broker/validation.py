"""Requests and answers held against the SDK's own types, strictly, with errors that name one field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anthropic.types import Message, MessageCreateParams, RawMessageStreamEvent
from anthropic.types.beta import BetaContextManagementConfigParam
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from tileport_driver.broker.refusal import Refusal
from tileport_skill.agent.wire import CONTEXT_EDITING

_MAX_CACHE_BREAKPOINTS = 4

Location = tuple[int | str, ...]
"""Where pydantic says an error lies: keys and indexes of the body, mixed with names of types."""
Path = tuple[int | str, ...]
"""The keys and indexes alone."""


def _hardened(schema: Any) -> Any:
    """The types' schema without what makes it lenient: unknown keys are refused at every depth, and
    `Iterable` is a list, as pydantic would otherwise look at its items only when somebody walks over them."""
    if isinstance(schema, dict):
        hard = {key: _hardened(value) for key, value in schema.items()}
        if hard.get("type") == "generator":
            hard["type"] = "list"
        if hard.get("type") == "typed-dict":
            hard["extra_behavior"] = "forbid"
        return hard
    if isinstance(schema, list | tuple):
        return type(schema)(_hardened(item) for item in schema)
    return schema


_PARAMS: TypeAdapter[Any] = TypeAdapter(MessageCreateParams)
_REQUEST = SchemaValidator(_hardened(_PARAMS.core_schema))
_EDITING_PARAM: TypeAdapter[Any] = TypeAdapter(BetaContextManagementConfigParam)
_EDITING = SchemaValidator(_hardened(_EDITING_PARAM.core_schema))
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
_EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


def check_request(body: Any, beta: str | None = None) -> dict[str, Any]:
    """The request itself, or a 400 that names what is wrong with it. `beta` is the client's `anthropic-beta` header."""
    if not isinstance(body, dict):
        raise _invalid("request", "must be a JSON object")
    plain = body
    if "context_management" in body and CONTEXT_EDITING in (beta or "").split(","):
        # The beta's one parameter beside those of the API itself, by the beta's own type.
        plain = {key: value for key, value in body.items() if key != "context_management"}
        _check_editing(body["context_management"])
    try:
        _REQUEST.validate_python(plain, strict=True)
    except ValidationError as error:
        where, what = _nearest(error, body)
        raise _invalid(where or "request", what) from None
    for where, what in _conversation_faults(body):
        raise _invalid(where, what)
    return body


def _check_editing(value: Any) -> None:
    try:
        _EDITING.validate_python(value, strict=True)
    except ValidationError as error:
        where, what = _nearest(error, {"edits": []} if not isinstance(value, dict) else value)
        raise _invalid(f"context_management.{where}" if where else "context_management", what) from None


def check_message(value: Any) -> Message:
    """Raises `ValueError` for what is no answer of the Messages API."""
    return _MESSAGE.validate_python(value)


def check_event(value: Any) -> None:
    """Raises `ValueError` for what is no event of a streamed answer."""
    _EVENT.validate_python(value)


def _invalid(where: str, what: str) -> Refusal:
    return Refusal(400, "invalid_request_error", f"{where}: {what}")


def _nearest(error: ValidationError, body: dict[str, Any]) -> tuple[str, str]:
    """Of the hundreds of errors that a union of all block types gives, the one from the branch that was meant.

    A branch whose literal `type` (`role`, `name`, `stream`) does not match was not meant if another branch's does;
    if no branch's does, that literal is the fault. Of what is left the error deepest in the body tells most.
    """
    details = error.errors(include_url=False, include_context=False)
    mismatched = {item["loc"][:-1] for item in details if _is_tag(item)}
    branches: dict[Path, set[Location]] = {}
    for item in details:
        places = {_path(item["loc"][:end], body): item["loc"][:end] for end in range(len(item["loc"]))}
        for path, branch in places.items():
            branches.setdefault(path, set()).add(branch)
    not_meant = {branch for branch in mismatched if branches[_path(branch, body)] - mismatched}
    told = [item for item in details if not _under(item, not_meant)]
    told = [item for item in told if _is_tag(item) or not _under(item, mismatched)]
    best = max(told or details, key=lambda item: len(_path(item["loc"], body)))
    path = _path(best["loc"], body)
    if best["type"] == "missing":
        path = (*path, best["loc"][-1])
    return ".".join(str(part) for part in path), best["msg"]


def _under(item: ErrorDetails, branches: set[Location]) -> bool:
    return any(item["loc"][:end] in branches for end in range(len(item["loc"])))


def _is_tag(item: ErrorDetails) -> bool:
    tags = ("type", "role", "name", "stream")
    return item["type"] in ("literal_error", "missing") and item["loc"][-1] in tags


def _path(location: Location, body: Any) -> Path:
    path: list[int | str] = []
    for part in location:
        if isinstance(body, dict) and part in body:
            body = body[part]
            path.append(part)
        if isinstance(body, list) and isinstance(part, int) and part < len(body):
            body = body[part]
            path.append(part)
    return tuple(path)


def _conversation_faults(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the types cannot say and the API refuses all the same."""
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        yield "messages", "the first message must be the user's"
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        blocks = _blocks(message)
        answered = {block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"}
        if missing := open_calls - answered:
            yield f"messages.{number}", f"tool_use {min(missing)} has no tool_result"
        if unknown := answered - open_calls:
            yield (
                f"messages.{number}",
                f"tool_result for {min(unknown)}, which the message before did not call",
            )
        for index, block in enumerate(blocks):
            if block.get("type") == "text" and not block["text"]:
                yield f"messages.{number}.content.{index}.text", "text content blocks must be non-empty"
        open_calls = {block["id"] for block in blocks if block.get("type") == "tool_use"}
    if open_calls:
        yield f"messages.{len(messages) - 1}", f"tool_use {min(open_calls)} has no tool_result"
    if (count := _cache_breakpoints(body)) > _MAX_CACHE_BREAKPOINTS:
        yield "cache_control", f"{count} breakpoints, the API allows {_MAX_CACHE_BREAKPOINTS}"


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _cache_breakpoints(value: Any) -> int:
    if isinstance(value, dict):
        own = 1 if value.get("cache_control") else 0
        # A tool's input is the model's own data and may hold any key.
        return own + sum(_cache_breakpoints(part) for key, part in value.items() if key != "input")
    if isinstance(value, list):
        return sum(_cache_breakpoints(part) for part in value)
    return 0
