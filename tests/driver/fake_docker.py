"""A Docker engine that misbehaves on purpose: HTTP on a Unix socket, answering as a test says."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import docker

RUNNING = {
    "Id": "c1",
    "Name": "/tileport-x-agent",
    "Config": {"Image": "x", "Labels": {}, "Tty": True},
    "State": {"Running": True, "Status": "running", "Pid": 0, "StartedAt": "2026-01-01T00:00:00Z", "ExitCode": 0},
}


def exited(code: int) -> dict[str, Any]:
    state = {"Running": False, "Status": "exited", "Pid": 0, "StartedAt": "2026-01-01T00:00:00Z", "ExitCode": code}
    return {**RUNNING, "State": state}


CREATED = {**RUNNING, "State": {**exited(0)["State"], "Status": "created"}}


class Engine:
    """`inspect` is what every look at a container gets: a document, a status, or seconds to hang for."""

    def __init__(self) -> None:
        self.inspect: dict[str, Any] | int | float = RUNNING
        self.killed = 0
        self.removed = 0
        self.starts = 204
        """The status that starting a container is answered with."""


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    said: Engine

    def handle_error(self, *_: object) -> None: ...


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        answer = self.server.said.inspect
        if "/logs" in self.path:
            self._send(200, b"")
        elif isinstance(answer, float):
            time.sleep(answer)
            self._send(200, b"{}")
        elif isinstance(answer, int):
            self._send(answer, b'{"message": "as the test says"}')
        else:
            self._send(200, json.dumps(answer).encode())

    def do_POST(self) -> None:
        self.server.said.killed += "/kill" in self.path
        status = self.server.said.starts if "/start" in self.path else 204
        self._send(status, b"" if status < 400 else b'{"message": "task c1: already exists"}')

    def do_DELETE(self) -> None:
        self.server.said.removed += 1
        self._send(204, b"")

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "client"

    def log_message(self, *_: object) -> None: ...


@contextmanager
def engine(folder: Path, timeout: float = 1.0) -> Iterator[tuple[Engine, docker.DockerClient]]:
    path = folder / "d.sock"
    with Server(str(path), Handler) as server:
        server.said = Engine()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = docker.DockerClient(base_url=f"unix://{path}", version="1.41", timeout=timeout)
        try:
            yield server.said, client
        finally:
            client.close()
            server.shutdown()
