"""The broker as the driver holds it: a thread that serves one attempt on a Unix socket, between `with` and
its end."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import uvicorn

from tileport_driver.broker.app import build_app
from tileport_driver.broker.budget import Budget, Spent
from tileport_driver.broker.conversation import Conversation
from tileport_driver.broker.engines import Model
from tileport_driver.broker.masking import Masks
from tileport_driver.broker.transcript import Transcript
from tileport_driver.records import Usage
from tileport_skill.agent.tools import describe
from tileport_skill.agent.wire import SOCKET_NAME, connectable
from tileport_skill.errors import MachineryError

_STARTS_WITHIN = 30.0


class Broker:
    """Serves the Messages API for one attempt, and can be started again on the same folders at any time."""

    def __init__(
        self,
        *,
        socket_dir: Path,
        model: Model,
        token: str,
        budget: Budget,
        transcript: Path,
        masks: Sequence[str] = (),
        uid: int | None = None,
    ) -> None:
        """`socket_dir` is mounted into the container; `uid` is whom the container runs as. `masks` are
        secrets that must not reach the transcript; the token and the model's own are always among them."""
        if not token:
            raise ValueError("a broker without a token would serve anybody")
        self._socket_dir = socket_dir
        self._model = model
        self._token = token
        self._budget = budget
        self._path = transcript
        self._masks = Masks([*masks, *model.secrets, token])
        self._uid = uid

    def __enter__(self) -> Self:
        self._transcript = Transcript(self._path, self._masks)
        try:
            listening = _listen(self._socket_dir, self._uid)
        except OSError as error:
            self._transcript.close()
            raise MachineryError(f"The broker cannot listen in {self._socket_dir}: {error}") from error
        app = build_app(Conversation(self._model, self._budget, self._transcript, self._masks), self._token)
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, name="broker", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _STARTS_WITHIN
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.__exit__(None, None, None)
                raise MachineryError("The broker's server did not start; its log says why.")
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._transcript.close()
        with contextlib.suppress(FileNotFoundError):
            (self._socket_dir / SOCKET_NAME).unlink()

    def usage(self) -> Usage:
        """Tokens so far, restarts included."""
        return self.spent().usage

    def spent(self) -> Spent:
        """The same with money, and with what lost answers may have cost."""
        return self._transcript.standing.spent

    def roles(self) -> dict[str, Spent]:
        """What each role has used of it."""
        return dict(self._transcript.standing.roles)

    def turns(self) -> int:
        return self._transcript.standing.exchanges

    def divergence(self) -> str | None:
        return self._transcript.standing.divergence

    def last_action(self) -> str:
        """What the model last asked for, in a few words: `bash: cargo build`, `edit kernel.rs`."""
        last = self._transcript.standing.last
        if last is None:
            return ""
        calls = [block for block in last.response["content"] if block["type"] == "tool_use"]
        if calls:
            return describe(calls[-1]["name"], calls[-1]["input"])
        texts = [block["text"] for block in last.response["content"] if block["type"] == "text"]
        return texts[-1].strip().splitlines()[0][:80] if texts and texts[-1].strip() else ""

    def failure(self) -> str | None:
        """What is wrong on our side or the API's, for a run that has ended: it is not the agent's fault and
        must not cost an attempt. While the agent still tries, it may pass."""
        if not self._thread.is_alive():
            return "The broker's thread has ended; resume the attempt."
        return self._transcript.failure or self._transcript.standing.trouble


def _listen(folder: Path, uid: int | None) -> socket.socket:
    """A listening socket in `folder`, put into place by renaming, so that one that is there is replaced at
    once."""
    folder.mkdir(parents=True, exist_ok=True)
    # The user inside passes through the folder and can neither list it nor put another socket there.
    folder.chmod(0o711)
    beside = folder / f".{secrets.token_hex(4)}"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(connectable(beside))
    if uid is None or uid == os.getuid():
        beside.chmod(0o600)
    elif os.getuid() == 0:
        os.chown(beside, uid, -1)
        beside.chmod(0o600)
    else:
        # Only root may give a file away. Anybody here may then connect, and needs the token to be heard.
        beside.chmod(0o666)
    listening.listen(16)
    beside.rename(folder / SOCKET_NAME)
    return listening
