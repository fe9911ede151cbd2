"""`tileport-bot serve`: takes deliveries, shows its queue, and keeps the processes alive that do the work.

This process only receives and shows, so that GitHub never waits for an attempt. The others are found through the
database: any of them may be killed, and any number of machines may share one Postgres.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from tileport_bot import inbox, pages
from tileport_bot.webhook import Receiver
from tileport_skill.errors import MachineryError

log = structlog.get_logger()

_GRACE_SECONDS = 60
_CHECK_SECONDS = 0.5
_MOST_RESTART_SECONDS = 60.0
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def application(secrets: Sequence[str], receiver: Receiver | None = None) -> Starlette:
    """The routes: one that takes deliveries, the others only read."""
    receiver = receiver or Receiver(secrets)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with receiver.writing():
            yield

    return Starlette(
        routes=[
            Route("/webhook", receiver.receive, methods=["POST"]),
            Route("/healthz", healthz),
            Route("/", overview),
            Route("/requests/{id:int}", one_request),
            Route("/requests/{id:int}/report", report),
        ],
        lifespan=lifespan,
    )


def healthz(request: Request) -> Response:
    """200 while deliveries can be kept."""
    try:
        inbox.answers()
    except MachineryError as error:
        return PlainTextResponse(f"{error}\n", 503, headers=_HEADERS)
    return PlainTextResponse("ok\n", headers=_HEADERS)


def overview(request: Request) -> Response:
    return HTMLResponse(pages.overview_html(pages.read_overview(time.time())), headers=_HEADERS)


def one_request(request: Request) -> Response:
    shown = pages.read_request(request.path_params["id"], time.time())
    if shown is None:
        return PlainTextResponse("no such request\n", 404, headers=_HEADERS)
    return HTMLResponse(pages.request_html(shown), headers=_HEADERS)


def report(request: Request) -> Response:
    text = pages.read_report(request.path_params["id"])
    if text is None:
        return PlainTextResponse("no report\n", 404, headers=_HEADERS)
    return HTMLResponse(text, headers=_HEADERS)


def serve(
    secrets: Sequence[str], host: str, port: int, commands: Sequence[Sequence[str]], say: Callable[[str], None]
) -> None:
    """Until SIGINT or SIGTERM. `commands` are the arguments of `tileport-bot` for each process that works."""
    inbox.answers()
    config = uvicorn.Config(
        application(secrets), host=host, port=port, log_level="warning", access_log=False, server_header=False
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn's own handlers are in force while it runs; afterwards it raises the signal again, for these.
        signal.signal(number, lambda *_: None)
    with _kept_alive(commands):
        say(f"Listening on http://{host}:{port}; deliveries go to /webhook.")
        uvicorn.Server(config).run()


@contextmanager
def _kept_alive(commands: Sequence[Sequence[str]]) -> Iterator[None]:
    """Each command as a process, started again when it ends; told to stop when the block ends."""
    over = threading.Event()
    threads = [threading.Thread(target=_keep, args=(command, over), daemon=True) for command in commands]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(_GRACE_SECONDS + 5)


def _keep(command: Sequence[str], over: threading.Event) -> None:
    delay = 1.0
    while not over.is_set():
        started = time.monotonic()
        # In a group of its own: Ctrl-C at a terminal reaches this process, which tells the others in order.
        process = subprocess.Popen(
            [sys.executable, "-m", "tileport_bot", *command, "--parent", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        while process.poll() is None and not over.wait(_CHECK_SECONDS):
            pass
        if over.is_set():
            _end(process)
            return
        log.error("a worker ended", command=" ".join(command[:2]), status=process.returncode, again_in=delay)
        over.wait(delay)
        delay = 1.0 if time.monotonic() - started > _MOST_RESTART_SECONDS else min(2 * delay, _MOST_RESTART_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
