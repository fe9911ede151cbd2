"""READ FIRST. GitHub on loopback: one HTTP server for the API and for git.

    request ─ fault? ─ limits ─ who ─ route ─ contract ─ may they? ─ handler ─ contract ─▶ answer

What the world holds is in `state.py`, what people do in it in `people.py`. The stand-in is strict: a route it does
not have, a request GitHub's description forbids, or an answer of its own that the description does not know is a
violation; the request is answered 501, and `FakeGitHub.close` raises with all of them.
"""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.bot.fakegithub import routes_apps, routes_issues, routes_pulls, routes_repository
from tests.bot.fakegithub.access import check_access, who_speaks
from tests.bot.fakegithub.call import Answer, Call, Moved, Refuse, Route
from tests.bot.fakegithub.contract import Contract
from tests.bot.fakegithub.faults import AFTER, NO_ANSWER, Fault, Faults, Kind, failure, limited_by
from tests.bot.fakegithub.git_door import is_git, serve_git
from tests.bot.fakegithub.graphql_door import answer_graphql, is_graphql
from tests.bot.fakegithub.limits import Limits
from tests.bot.fakegithub.people import People
from tests.bot.fakegithub.routes_pulls import follow_push
from tests.bot.fakegithub.state import World

ROUTES = [
    (route, route.pattern)
    for module in (routes_issues, routes_pulls, routes_repository, routes_apps)
    for route in module.ROUTES
]


class Request(NamedTuple):
    """One that arrived, for tests to look at."""

    method: str
    path: str
    query: str
    body: Any
    login: str | None
    status: int


class Dropped(Exception):
    """The connection ends without an answer."""


class FakeGitHub(People):
    """`address` is the API's and git's; a context manager that raises on leaving if the contract was broken."""

    def __init__(self, folder: Path, contract: Contract | None) -> None:
        super().__init__(World(folder))
        self.contract = contract
        self.faults = Faults()
        self.limits = Limits()
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.lock = threading.RLock()
        self.closing = threading.Event()
        handler = type("Handler", (_Handler,), {"fake": self})
        self._http = _Server(("127.0.0.1", 0), handler)
        self.world.address = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self) -> str:
        return self.world.address

    def __enter__(self) -> FakeGitHub:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(tell=kind is None)

    def close(self, *, tell: bool = True) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        if tell and self.violations:
            raise AssertionError("not as GitHub describes it:\n" + "\n".join(self.violations))

    def asked(self) -> list[str]:
        """`METHOD /path` of every request to the API so far."""
        return [f"{request.method} {request.path}" for request in self.requests]

    def answer(self, method: str, target: str, headers: dict[str, str], body: Any) -> Answer:
        """Everything but the sockets. Raises `Dropped` where no answer is to be given."""
        parts = urlsplit(target)
        path = parts.path.removeprefix("/api/v3") or "/"
        fault = self.faults.take(method, path)
        if fault is not None and fault.kind not in AFTER:
            return self._failed(fault)
        with self.lock:
            answer = self._served(method, path, parts.query, headers, body)
        if fault is not None and fault.kind is not Kind.TRUNCATED:
            if fault.kind is not Kind.SLOW:
                return self._failed(fault)
            self.closing.wait(fault.seconds)
        if fault is not None and fault.kind is Kind.TRUNCATED:
            answer.headers["X-Truncate"] = "1"
        return answer

    def _failed(self, fault: Fault) -> Answer:
        if fault.kind in NO_ANSWER:
            if fault.kind in (Kind.HANG_BEFORE, Kind.HANG_AFTER):
                self.closing.wait(fault.seconds)
            raise Dropped
        answer = failure(fault)
        now = self.world.now()
        answer.headers |= self.limits.headers(now)
        if limited := limited_by(fault):
            answer.headers |= self.limits.close(limited, now)
        if fault.kind is Kind.NOT_JSON:
            answer.headers["Content-Type"] = "text/html"
        return answer

    def _served(self, method: str, path: str, query: str, headers: dict[str, str], body: Any) -> Answer:
        token = None
        try:
            token, app = who_speaks(self.world, headers.get("authorization"))
            answer = self._routed(
                method, path, dict(parse_qsl(query, keep_blank_values=True)), headers, body, token, app
            )
        except Refuse as refusal:
            answer = refusal.answer
        self.requests.append(Request(method, path, query, body, token.login if token else None, answer.status))
        answer.headers = {**self.limits.headers(self.world.now()), **answer.headers}
        return answer

    def _routed(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], body: Any, token: Any, app: Any
    ) -> Answer:
        if not headers.get("user-agent"):
            raise Refuse(
                403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent"
            )
        if path == "/rate_limit":
            return self.limits.overview(self.world.now())
        if is_graphql(method, path):
            call = Call(
                world=self.world, say=self.say, params={}, query=query, body=body, path=path, token=token, app=app
            )
            self.limits.admit(method, path, self.world.now())
            answer, wrong = answer_graphql(call, self.contract)
            self.violations += wrong
            return answer
        found = [(route, match) for route, pattern in ROUTES if (match := pattern.fullmatch(path))]
        exact = next(((route, match) for route, match in found if route.method == method), None)
        if exact is None:
            return self._violated(f"the fake GitHub has no {method} {path}")
        route, match = exact
        params = {name: unquote(value) for name, value in match.groupdict().items()}
        if moved := self._moved(params, path, method):
            return moved
        call = Call(
            world=self.world,
            say=self.say,
            params=params,
            query=query,
            body=body,
            path=path,
            token=token,
            app=app,
            hidden_heads=self.faults.hides_head,
        )
        return self._called(route, call)

    def _called(self, route: Route, call: Call) -> Answer:
        if self.contract is not None:
            wrong = self.contract.request(route.method, route.template, call.params, call.query, call.body)
            if wrong:
                return self._violated(*(f"{route.method} {call.path}: {line}" for line in wrong))
        self.limits.admit(route.method, call.path, self.world.now())
        try:
            check_access(call, route.needs)
            answer = route.handler(call)
        except Refuse as refusal:
            answer = refusal.answer
        except Moved as moved:
            answer = _redirect(301, moved.url)
        if self.contract is not None:
            for line in self.contract.response(route.method, route.template, answer.status, answer.body):
                self.violations.append(f"answer {answer.status} to {route.method} {call.path}: {line}")
        return answer

    def _moved(self, params: dict[str, str], path: str, method: str) -> Answer | None:
        """A renamed repository: GitHub sends on, 301 for reading and 307 for the rest."""
        new = self.world.renamed.get(f"{params.get('owner')}/{params.get('repo')}".lower())
        if new is None:
            return None
        rest = path.split("/", 4)[4] if path.count("/") > 3 else ""
        url = f"{self.address}/repos/{new}" + (f"/{rest}" if rest else "")
        return _redirect(301 if method == "GET" else 307, url)

    def _violated(self, *lines: str) -> Answer:
        self.violations += lines
        return Answer(501, {"message": "; ".join(lines), "documentation_url": "tests/bot/fakegithub/server.py"})

    def pushed(self, answer: Any) -> None:
        for repository, issue in follow_push(self.world, answer.pushed):
            self.moved_pulls.append((repository.full_name, issue.number))


def _redirect(status: int, url: str) -> Answer:
    return Answer(status, {"message": "Moved Permanently", "url": url}, {"Location": url})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


class _Handler(BaseHTTPRequestHandler):
    fake: FakeGitHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        body = self._body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        parts = urlsplit(self.path)
        if is_git(parts.path):
            return self._git(parts.path, parts.query, headers, body)
        try:
            answer = self.fake.answer(self.command, self.path, headers, json.loads(body) if body else None)
        except Dropped:
            self.close_connection = True
            return None
        return self._send(answer, headers.get("if-none-match"))

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _git(self, path: str, query: str, headers: dict[str, str], body: bytes) -> None:
        fault = self.fake.faults.take("GIT", path)
        if fault is not None and fault.kind not in AFTER:
            self.close_connection = True
            return
        with self.fake.lock:
            answer = serve_git(self.fake.world, self.command, path, query, headers, body)
            if answer.pushed:
                self.fake.pushed(answer)
        if fault is not None:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _send(self, answer: Answer, known: str | None) -> None:
        text = b"" if answer.body is None else json.dumps(answer.body).encode()
        tag = f'W/"{hashlib.sha256(text).hexdigest()}"'
        fresh = answer.status == 200 and self.command == "GET"
        status = 304 if fresh and known == tag else answer.status
        if status == 304:
            text = b""
            self.fake.limits.used = max(0, self.fake.limits.used - 1)  # an unchanged answer costs nothing
        truncated = answer.headers.pop("X-Truncate", None)
        self.send_response(status)
        headers = {"Content-Type": "application/json; charset=utf-8", **answer.headers}
        headers |= {"ETag": tag} if fresh else {}
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[: len(text) // 2] if truncated else text)
        self.close_connection = self.close_connection or truncated is not None

    def log_message(self, format: str, *args: object) -> None:
        pass
