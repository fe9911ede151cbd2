"""Samples of a kernel: its Tile IR in one specialisation each, with the line of the source that each operation is from.

A child process imports the checkout's kernels and has cuTile compile them under signatures that assume nothing; the
disassembler says what came out, with places.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from tileport_skill.capture.child import bounded, child_environment
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import Specialisation
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import Checkout
from tileport_skill.tileir.assemble import tool
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.records import Entry

SECONDS = 600.0
DISASSEMBLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operation comes from; columns count from 0, as `ast` counts them."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One specialisation's kernel."""

    specialisation: Specialisation
    entry: Entry
    bytecode: bytes
    places: Mapping[int, tuple[Place, ...]]
    """By line of the disassembly: where the operation is written, then the calls that lead there, outermost last."""
    captured: bool


def read_samples(
    checkout: Checkout, specialisations: Sequence[Specialisation], made_up: Sequence[Specialisation], arch: str
) -> tuple[list[Sample], dict[str, str]]:
    """The samples, and for specialisations that cuTile does not compile the reason, by their ids."""
    asked = [*specialisations, *made_up]
    with tempfile.TemporaryDirectory(prefix="tileport-draft-") as folder:
        refused = _ask(checkout, asked, arch, Path(folder))
        samples, reasons = [], {}
        for number, (one, reason) in enumerate(zip(asked, refused, strict=True)):
            if reason is not None:
                reasons[one.id] = reason
                continue
            bytecode = (Path(folder) / f"{number}.tileirbc").read_bytes()
            samples.append(sample(one, bytecode, captured=number < len(specialisations)))
    return samples, reasons


def _ask(checkout: Checkout, asked: Sequence[Specialisation], arch: str, scratch: Path) -> list[str | None]:
    request, answer = scratch / "request.json", scratch / "answer.json"
    document = {
        "arch": arch,
        "specialisations": TypeAdapter(list[Specialisation]).dump_python(list(asked), mode="json"),
        "answer": str(answer),
        "folder": str(scratch),
        "package": str((checkout.root / checkout.package).resolve()),
    }
    request.write_text(json.dumps(document), encoding="utf-8")
    environment = child_environment(checkout, profile_of(arch), scratch)
    command = [sys.executable, "-m", "tileport_skill.draft.from_ir.child", str(request)]
    code, said = bounded(command, scratch, environment, SECONDS)
    if not answer.is_file():
        end = "\n".join(said.rstrip().splitlines()[-20:])
        raise RequestError(f"The kernels could not be compiled by cuTile (exit {code}). The end of it:\n{end}")
    return list(json.loads(answer.read_text(encoding="utf-8")))


def sample(specialisation: Specialisation, bytecode: bytes, *, captured: bool) -> Sample:
    """Reads one kernel's bytecode."""
    text, places = _split(_disassembled(bytecode))
    (entry,) = parse(text).entries
    return Sample(specialisation=specialisation, entry=entry, bytecode=bytecode, places=places, captured=captured)


def _disassembled(bytecode: bytes) -> str:
    with tempfile.TemporaryDirectory(prefix="tileport-") as folder:
        path = Path(folder) / "kernel.tileirbc"
        path.write_bytes(bytecode)
        command = [tool("tileirdisasm"), "--print-debug-info", str(path)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=DISASSEMBLE_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MachineryError(f"tileirdisasm did not read what cuTile wrote: {error}") from error
    if done.returncode != 0:
        raise MachineryError(f"tileirdisasm refused what cuTile wrote: {done.stderr[-500:]}")
    return done.stdout


def _split(text: str) -> tuple[str, dict[int, tuple[Place, ...]]]:
    """The kernel without its annotations, and the places by line."""
    kernel: list[str] = []
    marks: dict[int, str] = {}
    opened: list[int] = []
    table: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            name, _, said = line.partition(" = ")
            table[name] = said
            continue
        found = re.search(r" loc\((#loc\d*|unknown)\)$", line)
        plain = line[: found.start()] if found else line
        kernel.append(plain)
        number = len(kernel)
        if plain.endswith("{") and not plain.lstrip().startswith(("}", "(")):
            opened.append(number)  # where it is written stands behind its last brace
        if found and plain.strip() == "}" and opened:
            number = opened[-1]
        if plain.strip() == "}" and opened:
            opened.pop()
        if found:
            marks.setdefault(number, found[1])
    return "\n".join(kernel) + "\n", {number: _places(mark, table, 0) for number, mark in marks.items()}


def _places(mark: str, table: Mapping[str, str], depth: int) -> tuple[Place, ...]:
    said = table.get(mark, "")
    if depth > 32:
        return ()
    if found := re.match(r'loc\("(.*)":(\d+):(\d+)\)', said):
        return (Place(found[1], int(found[2]), int(found[3])),)
    if found := re.match(r"loc\(callsite\((#loc\d*) at (#loc\d*)\)\)", said):
        return (*_places(found[1], table, depth + 1), *_places(found[2], table, depth + 1))
    if found := re.match(r"#cuda_tile.di_loc<(#loc\d*) in", said):
        return _places(found[1], table, depth + 1)
    return ()
