"""`contract.json`: each file of a finished port, who wrote it and its hash; what is missing; what does not count.

One table says what there has to be. A file that no line of it asks for is named and counts for nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from tileport_skill.pipeline.records import Entry
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.port_files import port_files

PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One file that counts."""

    kind: str
    path: str
    """Of the port relative to the checkout, else to the working folder."""
    by: str
    """A role, `program`, `a program's draft`, `the checkout` or `the broker`."""
    sha256: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Something that a finished port has and this one has not."""

    kind: str
    path: str
    why: str
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The whole document."""

    outcome: str
    files: tuple[Line, ...]
    missing: tuple[Lack, ...]
    uncounted: tuple[str, ...]
    """Files of the working folder that are none of the above: notes, captures, what a role left lying."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One kind of file in the working folder."""

    kind: str
    patterns: tuple[str, ...]
    """The first has to be there."""
    why: str = "a role's check writes it"


_GPU, _BROKER = "it needs a GPU", "whoever runs the roles' model keeps it"
WANTED = (
    Wanted(kind="task", patterns=("port.json",)),
    Wanted(kind="verdict history", patterns=("history.jsonl",)),
    Wanted(kind="report", patterns=("reports/*.md",), why="a role leaves it"),
    Wanted(kind="analysis", patterns=("facts/analysis.json",)),
    Wanted(kind="reference IR", patterns=("ir/reference/*.tileir", "ir/reference/*.tileirbc")),
    Wanted(kind="generated IR", patterns=("ir/generated/*.tileir", "ir/generated/*.tileirbc")),
    Wanted(
        kind="pipeline test",
        patterns=("pipeline/main.rs", "pipeline/kernel.rs", "pipeline/Cargo.toml", "pipeline/data/*/*"),
    ),
    Wanted(kind="pipeline log", patterns=("logs/pipeline.log", "logs/interpreted.json")),
    Wanted(kind="build log", patterns=("logs/build.log",)),
    Wanted(kind="dispatch log", patterns=("logs/dispatch.json",)),
    Wanted(kind="correctness log", patterns=("correctness/correctness.json", "correctness/**/*"), why=_GPU),
    Wanted(kind="performance log", patterns=("performance/**/*",), why=_GPU),
    Wanted(kind="transcript", patterns=("transcript.jsonl",), why=_BROKER),
)
DIAGNOSES = ("diagnosis.md", "diagnosis.json")
_OURS = frozenset({"contract.json", "lock"})


def contract_of(work: Work, outcome: str, history: Sequence[Entry]) -> Contract:
    """What the working folder and the checkout hold at the end."""
    there = {path.relative_to(work.root).as_posix() for path in work.root.rglob("*") if _counts(work.root, path)}
    lines, lacks = list(_port(work, history)), list(_port_lacks(work))
    for wanted in WANTED:
        found = sorted({name for pattern in wanted.patterns for name in there if _matches(name, pattern)})
        lines += [_line(wanted.kind, name, work.root / name, _author(name, history)) for name in found]
        if not any(_matches(name, wanted.patterns[0]) for name in found):
            lacks.append(Lack(kind=wanted.kind, path=wanted.patterns[0], why=wanted.why))
    lines += [_line("diagnosis", name, work.root / name, PROGRAM) for name in DIAGNOSES if name in there]
    lacks += _without_a_port(there)
    counted = {line.path for line in lines}
    return Contract(outcome=outcome, files=tuple(lines), missing=tuple(lacks), uncounted=tuple(sorted(there - counted)))


def joined(found: Contract, root: Path, more: Sequence[tuple[str, str, str]]) -> Contract:
    """With files below `root`, each its kind, path and writer: what was missing of their kind no longer is."""
    lines = tuple(_line(kind, name, root / name, by) for kind, name, by in more if (root / name).is_file())
    kinds = {line.kind for line in lines}
    missing = tuple(lack for lack in found.missing if lack.kind not in kinds)
    return replace(found, files=found.files + lines, missing=missing)


def _port(work: Work, history: Sequence[Entry]) -> Iterator[Line]:
    checkout, operator = work.place()
    before = "a program's draft" if work.task().drafted else "the checkout"
    for name in port_files(checkout, operator).all:
        if (checkout.root / name).is_file():
            yield _line("port", name, checkout.root / name, _writer(name, history) or before)


def _port_lacks(work: Work) -> Iterator[Lack]:
    checkout, operator = work.place()
    files = port_files(checkout, operator)
    for name in files.all:
        if not (checkout.root / name).is_file() and (name != files.test or operator.tests):
            yield Lack(kind="port", path=name, why="a role leaves it")


def _without_a_port(there: set[str]) -> Iterator[Lack]:
    """Compiled kernels of the reference for which the port has none."""
    for name in sorted(there):
        generated = name.replace("ir/reference/", "ir/generated/")
        if name.startswith("ir/reference/") and generated not in there:
            yield Lack(kind="generated IR", path=generated, why="the port has no kernel for it")


def _counts(root: Path, path: Path) -> bool:
    """Links are followed nowhere, and `scratch` is what it says."""
    parts = path.relative_to(root).parts
    return path.is_file() and not path.is_symlink() and parts[0] != "scratch" and parts[0] not in _OURS


def _matches(name: str, pattern: str) -> bool:
    """As `Path.glob` has it, where `**/` may also be nothing."""
    if "**/" not in pattern:
        return name.count("/") == pattern.count("/") and Path(name).match(pattern)
    return name.startswith(pattern.partition("**/")[0])


def _author(name: str, history: Sequence[Entry]) -> str:
    """Reports are their roles', but for what no run was recorded with; programs write the rest."""
    if not name.startswith("reports/"):
        return "the broker" if name == "transcript.jsonl" else PROGRAM
    return next((str(entry.role) for entry in history if entry.report == name), "nobody that was asked")


def _writer(path: str, history: Sequence[Entry]) -> str | None:
    """The role after whose run the file had the hash it has at the end; None for what no role has changed."""
    for place in range(len(history) - 1, -1, -1):
        before = history[place - 1].tree if place else history[place].tree
        if history[place].tree.get(path) != before.get(path):
            return str(history[place].role)
    return None


def _line(kind: str, name: str, path: Path, by: str) -> Line:
    return Line(kind=kind, path=name, by=by, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
