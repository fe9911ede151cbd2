"""An answer as the events it is streamed in, and back: one shape inside the broker, whatever the client
asked for."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jiter

from tileport_driver.broker.validation import check_event, check_message


def as_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a whole message, each block in one piece."""
    begun = {**message, "content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(message["content"]):
        opened, deltas = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {
        key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details", "container") if key in message
    }
    yield {"type": "message_delta", "delta": ending, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _opened(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it begins, and the deltas that fill it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            begun = {**block, "thinking": "", "signature": ""}
            filling = {"type": "thinking_delta", "thinking": block["thinking"]}
            return begun, [filling, {"type": "signature_delta", "signature": block["signature"]}]
        case "tool_use" | "server_tool_use":
            partial = json.dumps(block["input"], ensure_ascii=False)
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": partial}]
        case _:
            return block, []


class Assembly:
    """Puts a streamed answer together, event by event, each held against the SDK's types.

    Every method raises `ValueError` for a stream that is no answer.
    """

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._inputs: dict[int, str] = {}
        self._whole = False

    def feed(self, event: dict[str, Any]) -> None:
        check_event(event)
        if event["type"] == "message_start":
            self._message = copy.deepcopy(event["message"])
            return
        if self._message is None:
            raise ValueError(f"{event['type']} before message_start")
        match event["type"]:
            case "content_block_start":
                if event["index"] != len(self._message["content"]):
                    raise ValueError(f"block {event['index']} does not follow the one before it")
                self._message["content"].append(copy.deepcopy(event["content_block"]))
            case "content_block_delta":
                self._delta(self._block(event["index"]), event["index"], event["delta"])
            case "content_block_stop":
                self._close(event["index"])
            case "message_delta":
                self._message |= {key: part for key, part in event["delta"].items() if part is not None}
                self._message["usage"] |= {key: n for key, n in event["usage"].items() if n is not None}
            case "message_stop":
                self._whole = True

    def message(self) -> dict[str, Any]:
        """The answer as one message of the API."""
        if self._message is None or not self._whole:
            raise ValueError("the stream ended before message_stop")
        check_message(self._message)
        if self._message["stop_reason"] is None:
            raise ValueError("the answer has no stop_reason")
        return self._message

    def _block(self, index: int) -> dict[str, Any]:
        assert self._message is not None
        content: list[dict[str, Any]] = self._message["content"]
        if not 0 <= index < len(content):
            raise ValueError(f"an event for block {index}, which was not started")
        return content[index]

    def _delta(self, block: dict[str, Any], index: int, delta: dict[str, Any]) -> None:
        match delta["type"]:
            case "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            case "thinking_delta":
                block["thinking"] = block.get("thinking", "") + delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or []), delta["citation"]]
            case "input_json_delta":
                self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]

    def _close(self, index: int) -> None:
        block = self._block(index)
        if text := self._inputs.pop(index, ""):
            # An answer cut off at max_tokens ends in the middle of a tool's input; what there is of it is
            # kept.
            block["input"] = jiter.from_json(text.encode(), partial_mode="trailing-strings")
