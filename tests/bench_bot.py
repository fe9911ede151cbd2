"""`make bench`: the server under load, killed in the middle, on this machine.

200 deliveries a second for 30 s: 3,000 issues in 100 repositories, each labelled once; the other half is redelivered,
forged, or signed with SHA-1. After a third the server and all its processes are killed with SIGKILL and started again;
senders whose answer was lost send again, as GitHub's redelivery and the sweep would. Then every issue must have been
ported exactly once. GitHub is a folder here and an attempt takes no time: what is measured is the server.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

SECRET = "a-secret-of-the-bench"
RATE, SECONDS, ISSUES, REPOSITORIES = 200, 30, 3_000, 100
ROOT = Path(__file__).parents[1]
LABELED = ROOT / "tests/data/events/issues.labeled.json"


class Post(NamedTuple):
    id: str
    body: bytes
    signature: str
    header: str
    valid: bool


def main() -> None:
    folder = Path("build/bench/bot").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, value in measured(folder).items():
        print(f"{name:<58} {value}")


def measured(folder: Path) -> dict[str, str]:
    posts = all_posts(random.Random(7))
    address = f"http://127.0.0.1:{free_port()}"
    server = Server(folder, address)
    server.start()
    try:
        started = time.monotonic()
        answers = asyncio.run(send(posts, address, server))
        sent = time.monotonic() - started
        wait_until_ported(folder, 900)
        ported = time.monotonic() - started
    finally:
        server.kill()
    runs = Counter((folder / "trace").read_text().split())
    valid = [seconds for post, status, seconds in answers if post.valid and status == 202]
    forged = Counter(status for post, status, _ in answers if not post.valid)
    cut = sorted(valid)[int(len(valid) * 0.99)]
    return {
        "deliveries sent, and in how long": f"{len(posts)} in {sent:.1f} s",
        "valid ones answered 202 (goal: all)": f"{len(valid)} of {sum(post.valid for post in posts)}",
        "99 in 100 of them within, ms (goal: 100)": f"{cut * 1000:.0f}",
        "the slowest, ms": f"{max(valid) * 1000:.0f}",
        "forged ones, by status (goal: 401 alone)": str(dict(forged)),
        "issues ported (goal: 3000)": str(len(runs)),
        "issues ported more than once (goal: 0)": str(sum(count > 1 for count in runs.values())),
        "until the last was ported, s": f"{ported:.0f}",
    }


def all_posts(random: random.Random) -> list[Post]:
    """In the order they are sent: a redelivery comes after its first delivery."""
    firsts = [labelled(number) for number in range(ISSUES)]
    others = [spoilt(firsts[random.randrange(number + 1)], number) for number in range(RATE * SECONDS - ISSUES)]
    return [post for pair in zip(firsts, others, strict=True) for post in pair]


def labelled(number: int) -> Post:
    document: dict[str, Any] = json.loads(LABELED.read_text(encoding="utf-8"))
    document["repository"]["full_name"] = f"example/Gym{number % REPOSITORIES}"
    document["issue"]["number"] = number // REPOSITORIES + 1
    document["issue"]["body"] = "why it would help, at some length. " * 100
    # One operator each: repository, operator and reference have one request at a time.
    document["label"]["name"] = f"port: op{number // REPOSITORIES}"
    body = json.dumps(document).encode()
    return Post(f"first-{number}", body, sign(body), "X-Hub-Signature-256", True)


def spoilt(first: Post, number: int) -> Post:
    """A redelivery, the second hook's delivery of the same, or a forgery."""
    match number % 4:
        case 0:
            return first
        case 1:
            return first._replace(id=f"hook-{number}")
        case 2:
            return first._replace(id=f"forged-{number}", signature=sign(first.body, "guessed"), valid=False)
    sha1 = f"sha1={hmac.new(SECRET.encode(), first.body, hashlib.sha1).hexdigest()}"
    return first._replace(id=f"sha1-{number}", signature=sha1, header="X-Hub-Signature", valid=False)


def sign(body: bytes, secret: str = SECRET) -> str:
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


async def send(posts: list[Post], address: str, server: Server) -> list[tuple[Post, int, float]]:
    """At the rate, whatever the answers do; after a third of them the server is killed."""
    limits = httpx2.Limits(max_connections=200)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=30) as client:
        started, tasks = time.monotonic(), []
        for number, post in enumerate(posts):
            await asyncio.sleep(max(0.0, started + number / RATE - time.monotonic()))
            if number == len(posts) // 3:
                await asyncio.to_thread(server.restart)
                started = time.monotonic() - number / RATE  # it was away: the clock goes on where it stood
            tasks.append(asyncio.create_task(one(client, post)))
        return list(await asyncio.gather(*tasks))


async def one(client: httpx2.AsyncClient, post: Post) -> tuple[Post, int, float]:
    headers = {"X-GitHub-Event": "issues", "X-GitHub-Delivery": post.id, "Content-Type": "application/json"}
    for _ in range(3_000):
        begun = time.monotonic()
        try:
            answer = await client.post("/webhook", content=post.body, headers={**headers, post.header: post.signature})
        except httpx2.TransportError:
            await asyncio.sleep(0.2)  # killed before it answered: sent again
            continue
        return post, answer.status_code, time.monotonic() - begun
    return post, 0, 0.0


class Server:
    """The application in one process, a worker for deliveries and one for requests, each killed as a whole."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        environment = {**os.environ, "TILEPORT_STATE": str(self._folder / "state"), "BENCH": str(self._folder)}
        environment["SECRET"] = SECRET
        for what in ("web", "deliveries", "requests"):
            command = [sys.executable, "-m", "tests.bot.bench_server", what, self._address]
            with (self._folder / f"{what}.log").open("ab") as log:
                self._processes.append(
                    subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
                )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                if httpx2.get(f"{self._address}/healthz").status_code == 200:
                    return
            except httpx2.TransportError:
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    def kill(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGKILL)
        for process in self._processes:
            process.wait()
        self._processes = []

    def restart(self) -> None:
        self.kill()
        self.start()


def wait_until_ported(folder: Path, seconds: float) -> None:
    trace, deadline, last = folder / "trace", time.monotonic() + seconds, -1
    while time.monotonic() < deadline:
        done = len(set(trace.read_text().split())) if trace.exists() else 0
        if done >= ISSUES and done == last:
            return
        last = done
        time.sleep(5)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
