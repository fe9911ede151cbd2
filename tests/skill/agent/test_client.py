"""The client's patience, against a real server on a Unix socket that answers as it is told."""

from __future__ import annotations

import json
import socketserver
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tileport_skill.agent.client import Asker, Refused, Unreachable, connect
from tileport_skill.agent.wire import REFUSAL_HEADER, SOCKET_NAME

REQUEST: dict[str, Any] = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "go"}]}
START = {
    "type": "message_start",
    "message": {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}  # fmt: skip
WHOLE = [
    START,
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]
BAD_JSON = [
    START,
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "n", "input": {}},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "}{"}},
]
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str) -> None:
        super().__init__(path, _Handler)
        self.answers: list[Any] = []
        self.asked = 0


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.asked += 1
        answer = self.server.answers.pop(0)
        if answer == "hang up":
            return
        if isinstance(answer, list):
            body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in answer)
            self._send(200, body, {"content-type": "text/event-stream"})
        else:
            status, headers = answer
            body = {"type": "error", "error": {"type": "api_error", "message": f"told {status}"}}
            self._send(status, json.dumps(body), {"content-type": "application/json", **headers})

    def _send(self, status: int, body: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())


@pytest.fixture
def server() -> Iterator[_Server]:
    with tempfile.TemporaryDirectory() as folder, _Server(f"{folder}/{SOCKET_NAME}") as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


def _asker(path: str, *, patience: float = 60, deadline: float = 600) -> tuple[Asker, list[str]]:
    waits: list[str] = []
    asker = Asker(
        connect(Path(path), "token"),
        patience=patience,
        deadline=time.monotonic() + deadline,
        on_wait=waits.append,
        longest_wait=0.01,
    )
    return asker, waits


@pytest.mark.parametrize(
    "trouble",
    [
        (429, {"retry-after": "0"}),
        (529, {}),
        (500, {}),
        (503, {}),
        (408, {}),
        "hang up",
        [],
        WHOLE[:3],
        BAD_JSON,
        [START, OVERLOADED],
    ],
)
def test_what_may_pass_is_asked_again_until_there_is_a_whole_answer(server: _Server, trouble: Any) -> None:
    server.answers = [trouble, trouble, WHOLE]
    asker, waits = _asker(server.server_address)  # type: ignore[arg-type]
    assert asker(REQUEST).content[0].text == "hello"  # type: ignore[union-attr]
    assert (server.asked, len(waits)) == (3, 2)
    assert waits[0].startswith("waiting for the model after ")


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (402, {REFUSAL_HEADER: "budget"}, "budget spent: "),
        (400, {REFUSAL_HEADER: "divergence"}, "the script no longer fits: "),
        (500, {REFUSAL_HEADER: "budget"}, "budget spent: "),
        (400, {}, r"the API refused the request \(400\)"),
        (401, {}, r"the API refused the request \(401\)"),
        (413, {}, r"the API refused the request \(413\)"),
    ],
)
def test_what_will_not_pass_is_asked_once(server: _Server, status: int, headers: dict[str, str], reason: str) -> None:
    server.answers = [(status, headers)]
    asker, waits = _asker(server.server_address)  # type: ignore[arg-type]
    with pytest.raises(Refused, match=reason):
        asker(REQUEST)
    assert (server.asked, waits) == (1, [])


def test_patience_ends(server: _Server) -> None:
    server.answers = [(529, {})] * 10_000
    asker, _ = _asker(server.server_address, patience=0.2)  # type: ignore[arg-type]
    with pytest.raises(Unreachable, match="still answered 529"):
        asker(REQUEST)
    assert server.asked > 1


def test_patience_never_outlives_the_run(tmp_path: Path) -> None:
    asker, _ = _asker(str(tmp_path / "nobody"), patience=600, deadline=0.2)
    with pytest.raises(Unreachable, match="APIConnectionError"):
        asker(REQUEST)


def test_a_server_that_comes_later_is_found(server: _Server) -> None:
    path = Path(str(server.server_address))
    away = path.with_name("away")
    path.rename(away)
    server.answers = [WHOLE]
    asker, _ = _asker(str(path))
    found = threading.Event()
    asker._on_wait = lambda _: (None if found.is_set() else away.rename(path), found.set())[1]  # type: ignore[assignment]
    assert asker(REQUEST).stop_reason == "end_turn"
    assert found.is_set()
