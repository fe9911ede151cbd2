"""The working folder: beside the checkout, never in it, and all that is known of a port that is being made.

State is `history.jsonl` alone: one line a run, written whole and synced, so that what is killed goes on from the last
whole line.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.pipeline.machine import Run, Step, next_step
from tileport_skill.pipeline.records import Entry, Task
from tileport_skill.pipeline.verdicts import Role
from tileport_skill.tilegym.operators import Checkout, Operator, find_operator, open_checkout, read_operators

_IGNORED = frozenset({".git", "target", "__pycache__", ".pytest_cache", ".build.lock", "Cargo.lock"})


@dataclass(frozen=True, slots=True)
class Work:
    """One working folder."""

    root: Path

    @property
    def history_file(self) -> Path:
        return self.root / "history.jsonl"

    def report(self, role: Role, history: tuple[Entry, ...]) -> Path:
        """Where the role's next report belongs: `reports/kernel-writer-2.md`."""
        return self.root / "reports" / f"{role}-{1 + sum(entry.role is role for entry in history)}.md"

    def task(self) -> Task:
        path = self.root / "port.json"
        try:
            return TypeAdapter(Task).validate_json(path.read_bytes())
        except OSError as error:
            raise RequestError(
                f"{self.root} holds no port.json. Begin with `tileport-skill preflight OPERATOR --work {self.root}`."
            ) from error
        except ValidationError as error:
            raise RequestError(f"{path} is not what preflight wrote: {error.errors()[0]['msg']}.") from error

    def place(self) -> tuple[Checkout, Operator]:
        task = self.task()
        checkout = open_checkout(Path(task.repo))
        return checkout, find_operator(read_operators(checkout), task.operator)

    def history(self) -> tuple[Entry, ...]:
        """Every whole line. A last line without its end was being written when the writer was killed."""
        try:
            text = self.history_file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        whole = text[: text.rfind("\n") + 1].splitlines()
        try:
            entries = tuple(TypeAdapter(Entry).validate_json(line) for line in whole)
        except ValidationError as error:
            raise MachineryError(f"{self.history_file} is damaged: {error.errors()[0]['msg']}. Begin anew.") from error
        if [entry.number for entry in entries] != list(range(1, len(entries) + 1)):
            raise MachineryError(f"{self.history_file} lacks lines or has some twice. Begin anew.")
        return entries

    def append(self, entry: Entry) -> None:
        line = json.dumps(TypeAdapter(Entry).dump_python(entry, mode="json"), ensure_ascii=False) + "\n"
        with self.history_file.open("a+b") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def step(self) -> Step:
        return next_step([entry.ran for entry in self.history()])

    def expect(self, role: Role) -> Run:
        """The step that is due, if it is this role's. Raises `RequestError` naming what is due instead."""
        step = self.step()
        if not isinstance(step, Run):
            raise RequestError(f"This port has ended ({step}); there is nothing to submit.")
        if step.role is not role:
            raise RequestError(f"{step.role} is next, not {role}.")
        return step

    @contextmanager
    def locked(self, patience: float = 0.0) -> Iterator[None]:
        """One process at a time; the lock goes with its process. Waits `patience` seconds for another's end."""
        self.root.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + patience
        with (self.root / "lock").open("w") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError as error:
                    if time.monotonic() >= until:
                        raise RequestError(f"Another process works in {self.root}. Wait for it.") from error
                time.sleep(0.2)
            yield


def open_work(root: Path, repo: Path) -> Work:
    """Raises `RequestError` if the folder lies in the checkout, where it would be part of the port."""
    if root.resolve().is_relative_to(repo.resolve()):
        raise RequestError(f"{root} lies inside {repo}, and would become part of the port. Give a folder beside it.")
    return Work(root.resolve())


def hash_tree(root: Path) -> dict[str, str]:
    """SHA-256 of every file of a checkout but build products; of a link the hash of what it says."""
    found = {}
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _IGNORED)
        for name in sorted(files):
            path = Path(folder) / name
            if name not in _IGNORED and path.suffix not in {".so", ".pyc"}:
                content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
                found[path.relative_to(root).as_posix()] = hashlib.sha256(content).hexdigest()
    return found
