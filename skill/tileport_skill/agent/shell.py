"""One persistent bash for the model's `bash` tool: capped output, a time-out per command, restarts."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import select
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

_CHUNK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What one command left. A command that failed is data, never an exception."""

    output: str
    status: int | None
    """None when the command was stopped for its time, or took the shell with it."""
    note: str = ""
    """What happened to the shell itself, for the model."""


class Shell:
    """A bash that keeps its folder, variables and functions between commands.

    Commands go in through `eval` on one line of our own, with their standard input closed, so that nothing a
    command reads or leaves half-typed can eat the line that reports its end.
    """

    def __init__(self, folder: Path, *, environment: dict[str, str], cap: int = 30_000) -> None:
        self._folder = folder
        self._environment = environment
        self._cap = cap
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: str, *, seconds: float) -> Ran:
        """Runs `command`, and kills the shell with all of its children when it takes longer than
        `seconds`."""
        process = self._started()
        mark = secrets.token_hex(16)
        line = f"eval {shlex.quote(command)} </dev/null; printf '\\n%s %d\\n' {mark} $?\n"
        output = _Capped(self._cap, mark.encode())
        try:
            assert process.stdin is not None
            process.stdin.write(line.encode("utf-8", "replace"))
            process.stdin.flush()
        except BrokenPipeError:
            return self._died(output)
        deadline = time.monotonic() + seconds
        while output.status is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self.restart()
                note = f"stopped after {seconds:g} s; the shell was restarted, variables and folder are lost"
                return Ran(output=output.text(), status=None, note=note)
            if chunk := self._read(process, left):
                output.feed(chunk)
            elif chunk is not None:
                return self._died(output)
        return Ran(output=output.text(), status=output.status)

    def restart(self) -> None:
        """Ends the shell and whatever it still runs; the next command gets a fresh one in the first
        folder."""
        process, self._process = self._process, None
        if process is None:
            return
        # The shell leads a session of its own, so this reaches its children too, background jobs included.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                ["bash", "--noprofile", "--norc"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
                bufsize=0,
            )
        return self._process

    def _read(self, process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
        """None when nothing came in time, empty at the end of the output, which is the end of the shell."""
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], min(seconds, 1.0))
        if not ready:
            # A background child may hold the output open after the shell itself has ended.
            return b"" if process.poll() is not None else None
        return os.read(process.stdout.fileno(), _CHUNK)

    def _died(self, output: _Capped) -> Ran:
        process = self._process
        status = process.wait() if process is not None else None
        self.restart()
        note = f"the shell ended with status {status}; the next command starts a fresh one"
        return Ran(output=output.text(), status=None, note=note)


@dataclass(slots=True)
class _Capped:
    """The first and the last part of an output of any length, and the status behind the end mark."""

    cap: int
    mark: bytes
    status: int | None = None
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)
    _dropped: int = 0

    def feed(self, chunk: bytes) -> None:
        half = self.cap // 2
        room = half - len(self._head)
        if room > 0 and not self._tail:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        self._find_end()
        if (excess := len(self._tail) - half - len(self.mark) - 32) > 0:
            self._dropped += excess
            del self._tail[:excess]

    def _find_end(self) -> None:
        # The mark may lie across head and tail; both are short, so looking at them whole is cheap. A
        # background child may write behind it, so it is looked for everywhere.
        found = re.search(rb"\n" + self.mark + rb" (\d+)\n", bytes(self._head) + bytes(self._tail))
        if found is None:
            return
        self.status = int(found[1])
        kept = len(self._head)
        del self._tail[max(0, found.start() - kept) : max(0, found.end() - kept)]
        del self._head[found.start() : found.end()]

    def text(self) -> str:
        head, tail = self._head.decode("utf-8", "replace"), self._tail.decode("utf-8", "replace")
        middle = f"\n[... {self._dropped} bytes left out ...]\n" if self._dropped else ""
        return head + middle + tail
