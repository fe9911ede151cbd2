"""A real broker on a real Unix socket, a real client, the agent's real process, and a strict stand-in for the API."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
import uvicorn
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tileport_driver.broker.budget import Budget
from tileport_driver.broker.engines import Model, ScriptedModel
from tileport_driver.broker.script import load_script
from tileport_driver.broker.server import Broker
from tileport_driver.broker.streaming import as_events
from tileport_driver.broker.validation import check_request
from tileport_skill.agent.__main__ import main
from tileport_skill.agent.wire import SOCKET_NAME, TOKEN_VARIABLE

TOKEN = "throw-away-token-of-one-attempt"
ASK: dict[str, Any] = {
    "model": "claude-opus-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Port it."}],
}


@dataclass
class Attempt:
    """The folders of one attempt, and the broker on them."""

    root: Path
    opened: contextlib.ExitStack

    @property
    def socket_dir(self) -> Path:
        return self.root / "socket"

    @property
    def transcript(self) -> Path:
        return self.root / "transcript.jsonl"

    @property
    def work(self) -> Path:
        return self.root / "work"

    def script(self, *turns: dict[str, Any]) -> ScriptedModel:
        folder = self.root / "script"
        folder.mkdir(exist_ok=True)
        (folder / "script.yaml").write_text(yaml.safe_dump(list(turns)))
        return ScriptedModel(load_script(folder))

    def broker(self, model: Model, budget: Budget | None = None, masks: tuple[str, ...] = ()) -> Broker:
        return Broker(
            socket_dir=self.socket_dir,
            model=model,
            token=TOKEN,
            budget=budget or Budget(),
            transcript=self.transcript,
            masks=masks,
        )

    def raw(self, token: str | None = TOKEN) -> httpx2.Client:
        """Plain HTTP, to send what the SDK would not."""
        transport = httpx2.HTTPTransport(uds=str(self.socket_dir / SOCKET_NAME), verify=False)
        headers = {"x-api-key": token} if token else {}
        client = httpx2.Client(transport=transport, base_url="http://broker", headers=headers)
        return self.opened.enter_context(client)

    def sdk(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(api_key=TOKEN, base_url="http://broker", max_retries=0, http_client=self.raw(None))

    def agent_arguments(self, *options: str) -> list[str]:
        """Those of the agent's command line, with a task and a work tree to go with them."""
        self.work.mkdir(exist_ok=True)
        task = self.root / "task.md"
        task.write_text("# System\nYou port kernels.\n\n# Task\nPort it.\n")
        where = ["--work", str(self.work), "--broker", str(self.socket_dir), "--out", str(self.root / "out")]
        return ["--task", str(task), *where, "--model", "claude-opus-5", *options]

    def run_agent(self, *options: str) -> int:
        """The agent as the container starts it: its own interpreter, its own command line. Returns its status."""
        command = [sys.executable, "-m", "tileport_skill.agent", *self.agent_arguments(*options)]
        ran = subprocess.run(command, env={**os.environ, TOKEN_VARIABLE: TOKEN}, timeout=120, check=False)
        return ran.returncode

    def fork_agent(self, *options: str) -> BaseProcess:
        """The same in a fork of this process, which spares the seconds that importing the SDK takes."""
        return self.fork(_agent, ["agent", *self.agent_arguments(*options)])

    def fork(self, target: Callable[..., Any], *arguments: Any) -> BaseProcess:
        """A process of its own, ended with the attempt at the latest."""
        process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
        process.start()
        self.opened.callback(process.join)
        self.opened.callback(process.kill)
        return process


def _agent(arguments: list[str]) -> None:
    sys.argv = arguments
    os.environ[TOKEN_VARIABLE] = TOKEN
    sys.exit(main())


@pytest.fixture
def attempt() -> Iterator[Attempt]:
    # Not pytest's own folder, whose name is too long for a socket of a client that does not know how.
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as opened:
        yield Attempt(Path(folder), opened)


@dataclass
class StandIn:
    """What the API would do next, and what it was sent. It refuses whatever the SDK's types do not describe."""

    url: str
    key: str = "sk-ant-the-real-key-0123456789"
    answers: list[dict[str, Any] | tuple[Any, ...] | int] = field(default_factory=list)
    """A message; an error as status, type, headers and text; or the number of events before a stream breaks off."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    async def serve(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.headers.append(dict(request.headers))
        self.requests.append(body)
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "authentication_error")
        check_request(body, request.headers.get("anthropic-beta"))
        answer = self.answers.pop(0)
        if isinstance(answer, tuple):
            return _error(*answer)
        cut = answer if isinstance(answer, int) else None
        events = list(as_events(message("cut off") if isinstance(answer, int) else answer))[:cut]
        frames = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
        return StreamingResponse(iter([frames]), media_type="text/event-stream")


def _error(status: int, kind: str, headers: dict[str, str] | None = None, text: str = "") -> Response:
    body = {"type": "error", "error": {"type": kind, "message": text or f"told {status}"}}
    return JSONResponse(body, status_code=status, headers=headers)


def message(text: str, **usage: Any) -> dict[str, Any]:
    """An answer of the API."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 20, **usage},
    }


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    listening = socket.create_server(("127.0.0.1", 0))
    api = StandIn(url=f"http://127.0.0.1:{listening.getsockname()[1]}")
    app = Starlette(routes=[Route("/v1/messages", api.serve, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield api
    server.should_exit = True
    thread.join()


Answer = Callable[..., dict[str, Any]]


@pytest.fixture
def ask() -> dict[str, Any]:
    """A request that is right."""
    return json.loads(json.dumps(ASK))


@pytest.fixture
def answer() -> Answer:
    return message


@pytest.fixture
def token() -> str:
    return TOKEN
