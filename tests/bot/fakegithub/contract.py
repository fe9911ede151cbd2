"""Asks GitHub's own descriptions whether a request, an answer or a webhook is one of GitHub's.

One long-lived Node.js process does the judging, because the descriptions' own validator is JavaScript.
"""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.bot.fakegithub.packages import Packages


class Contract:
    """Every method returns what does not fit, a line each; nothing when all fits."""

    def __init__(self, packages: Packages) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            ["node", Path(__file__).with_name("contract.mjs"), packages.modules, packages.description],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def request(self, method: str, path: str, params: dict[str, str], query: dict[str, str], body: object) -> list[str]:
        """`path` as the description writes it, with `{names}`."""
        return self._ask(kind="request", method=method.lower(), path=path, params=params, query=query, body=body)

    def response(self, method: str, path: str, status: int, body: object, *, fault: bool = False) -> list[str]:
        """`fault`: a failure any operation may meet, which the description does not list with each."""
        return self._ask(kind="response", method=method.lower(), path=path, status=status, body=body, fault=fault)

    def webhook(self, event: str, body: dict[str, Any]) -> list[str]:
        return self._ask(kind="webhook", event=event, body=body)

    def graphql(self, query: str, variables: object, data: object = None) -> list[str]:
        """`data`: what is answered, if it is known already."""
        return self._ask(kind="graphql", query=query, variables=variables, data=data)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()

    def _ask(self, **question: object) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        assert line, "the contract's process has died"
        errors: list[str] = json.loads(line)["errors"]
        return errors
