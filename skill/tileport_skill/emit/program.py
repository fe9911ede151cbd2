"""The emitter program: built once from `skill/emitter` into the cache, then run on a kernel file and requests."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tileport_skill.emit.derived import derivations
from tileport_skill.emit.entries import KernelModule, Problem
from tileport_skill.emit.mapping import Request
from tileport_skill.errors import MachineryError

CRATE = Path(__file__).parent.parent.parent / "emitter"
PROGRAM = "tileport-emitter"
BUILD_SECONDS = 1800.0
DESCRIBE_SECONDS = 20.0
REQUEST_SECONDS = 30.0
ADDRESS_SPACE = 8 << 30
WORKERS = 2
"""Processes that share one call's requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """The answer to one request: bytecode, or the problem that kept it from being made."""

    bytecode: bytes | None
    problem: Problem | None


def build_emitter(cache: Path, *, cargo: Path, cuda: Path, environment: Mapping[str, str], jobs: int = 2) -> Path:
    """Builds the emitter unless the cache holds one of this very source; returns the program's path.

    `cuda` is the CUDA wheels' folder (`nvidia/cu13`): the crates' bindings read its headers. `environment` is what
    cargo needs to work here (`PATH`, `RUSTUP_TOOLCHAIN`, `CARGO_HOME`, `LIBCLANG_PATH`, ...).
    """
    target = cache / "emitter" / _source_hash() / PROGRAM
    if os.access(target, os.X_OK):
        return target
    build = cache / "emitter" / "target"
    command = [str(cargo), "build", "--release", "--locked", "--jobs", str(jobs), "--target-dir", str(build)]
    try:
        done = subprocess.run(
            [*command, "--manifest-path", str(CRATE / "Cargo.toml")],
            env={**environment, "CUDA_TOOLKIT_PATH": str(cuda)},
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineryError(f"The emitter could not be built: {error}") from error
    if done.returncode != 0:
        raise MachineryError(f"The emitter did not build (exit {done.returncode}):\n{done.stderr[-3000:]}")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    partial.write_bytes((build / "release" / PROGRAM).read_bytes())
    partial.chmod(0o755)
    partial.replace(target)
    return target


def _with_derivations(modules: Sequence[KernelModule], kernel: Path) -> tuple[KernelModule, ...]:
    told = derivations(kernel.read_text(encoding="utf-8"))
    return tuple(
        dataclasses.replace(
            module,
            entries=tuple(dataclasses.replace(one, derived=told.get(one.name, {})) for one in module.entries),
        )
        for module in modules
    )


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted([CRATE / "Cargo.toml", CRATE / "Cargo.lock", *(CRATE / "src").glob("*.rs")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Emitter:
    """Runs the program. What it says about a kernel is data; a program that cannot run is a `MachineryError`."""

    def __init__(self, program: Path) -> None:
        if not os.access(program, os.X_OK):
            raise MachineryError(f"{program} is no program. Build the emitter with `tileport-skill emitter build`.")
        self._program = program

    def describe(self, kernel: Path) -> tuple[KernelModule, ...] | Problem:
        """The modules and entries of `kernel`, or why they cannot be told."""
        done = subprocess.run(
            [*self._bounded(), "describe", str(kernel)],
            capture_output=True,
            text=True,
            timeout=DESCRIBE_SECONDS,
            check=False,
            env={},
        )
        document = _parsed(done.stdout)
        if document is None:
            return Problem(kind="crash", message=f"the emitter ended with {done.returncode}: {done.stderr[-500:]}")
        if "problem" in document:
            return TypeAdapter(Problem).validate_python(document["problem"])
        modules = TypeAdapter(tuple[KernelModule, ...]).validate_python(document["modules"])
        return _with_derivations(modules, kernel)

    def emit(
        self, kernel: Path, requests: Sequence[Request], *, seconds: float = REQUEST_SECONDS
    ) -> tuple[Emitted, ...]:
        """One answer per request, in order. A request that hangs or crashes the program spoils no other."""
        share = max(1, -(-len(requests) // WORKERS))
        parts = [requests[start : start + share] for start in range(0, len(requests), share)]
        with ThreadPoolExecutor(WORKERS) as pool:
            answers = pool.map(lambda part: self._emit(kernel, part, seconds), parts)
        return tuple(answer for part in answers for answer in part)

    def _emit(self, kernel: Path, requests: Sequence[Request], seconds: float) -> list[Emitted]:
        answers: list[Emitted] = []
        with tempfile.TemporaryDirectory(prefix="tileport-emit-") as folder:
            while len(answers) < len(requests):
                before = len(answers)
                answers += self._run(kernel, requests[before:], Path(folder), seconds)
        return answers

    def _run(self, kernel: Path, requests: Sequence[Request], folder: Path, seconds: float) -> list[Emitted]:
        """Answers of one process, up to and with the first request it did not survive."""
        outs = [folder / f"{number}.tileirbc" for number in range(len(requests))]
        lines = [
            json.dumps({**dataclasses.asdict(request), "id": secrets.token_hex(8), "out": str(out)})
            for request, out in zip(requests, outs, strict=True)
        ]
        process = subprocess.Popen(
            [*self._bounded(), "emit", str(kernel)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            start_new_session=True,
        )
        answers: list[Emitted] = []
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            reader = _Lines(process.stdout.fileno())
            for line, out in zip(lines, outs, strict=True):
                try:
                    process.stdin.write(line.encode() + b"\n")
                    process.stdin.flush()
                    said = reader.next(json.loads(line)["id"], seconds)
                except OSError:  # the program is gone
                    said = None
                answer = _answer(said, out, reader.timed_out, seconds)
                answers.append(answer)
                if answer.problem is not None and answer.problem.kind in ("crash", "timeout"):
                    os.killpg(process.pid, signal.SIGKILL)
                    break
            else:
                process.stdin.close()
        return answers

    def _bounded(self) -> list[str]:
        return ["prlimit", f"--as={ADDRESS_SPACE}", "--core=0", str(self._program)]


def _answer(said: str | None, out: Path, timed_out: bool, seconds: float) -> Emitted:
    if said is None:
        kind, text = (
            ("timeout", f"did not compile within {seconds:.0f} s") if timed_out else ("crash", "the emitter died")
        )
        return Emitted(bytecode=None, problem=Problem(kind=kind, message=text))
    document = _parsed(said)
    if document is None:
        return Emitted(bytecode=None, problem=Problem(kind="crash", message=f"unreadable answer: {said[:200]}"))
    if "problem" in document:
        return Emitted(bytecode=None, problem=TypeAdapter(Problem).validate_python(document["problem"]))
    return Emitted(bytecode=out.read_bytes(), problem=None)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return TypeAdapter(dict[str, Any]).validate_json(text)
    except ValidationError:
        return None


class _Lines:
    """Answers from a file descriptor, each waited for a limited time; what a kernel prints itself is skipped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._held = b""
        self.timed_out = False

    def next(self, wanted: str, seconds: float) -> str | None:
        deadline = time.monotonic() + seconds
        while (line := self._line(deadline)) is not None:
            document = _parsed(line)
            if document is not None and document.get("id") == wanted:
                return line
        return None

    def _line(self, deadline: float) -> str | None:
        while b"\n" not in self._held:
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.timed_out = True
                return None
            more = os.read(self._descriptor, 1 << 16)
            if not more:
                return None
            self._held += more
        line, self._held = self._held.split(b"\n", 1)
        return line.decode("utf-8", "replace")
