"""The contract of a port by roles at its end: what its container wrote, hashed again, and what the driver kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tileport_driver.records import Failed, Passed
from tileport_driver.roles_run import read_plain
from tileport_driver.store import AttemptFolder, write_json
from tileport_skill.pipeline.contract import Contract, Lack, Line, joined
from tileport_skill.pipeline.ending import CONTRACT

_KINDS = {
    "build": "build log",
    "tile-ir": "dispatch log",
    "correctness": "correctness log",
    "performance": "performance log",
}
"""What a gate's files are to the contract."""
_CHANGED = "it is not what the contract of the roles says"


def write_contract(attempt: AttemptFolder) -> Path | None:
    """`contract.json` in the attempt's folder; None where no port by roles came to its end."""
    try:
        said = TypeAdapter(Contract).validate_json(read_plain(attempt.roles / CONTRACT))
    except ValidationError:  # there is none, or its container spoilt it
        return None
    found = joined(again(said, attempt.roles), attempt.path, list(_kept(attempt)))
    path = attempt.path / CONTRACT
    write_json(path, TypeAdapter(Contract).dump_python(found, mode="json"))
    return path


def again(said: Contract, folder: Path) -> Contract:
    """Without what is not there as it says. The port's own files are the patch's, whose tree acceptance has hashed."""
    kept: list[Line] = []
    lacks = list(said.missing)
    for line in said.files:
        if line.kind == "port" or (_within(folder, line.path) and _hash(folder / line.path) == line.sha256):
            kept.append(line)
        else:
            lacks.append(Lack(kind=line.kind, path=line.path, why=_CHANGED))
    return replace(said, files=tuple(kept), missing=tuple(lacks))


def _kept(attempt: AttemptFolder) -> Iterator[tuple[str, str, str]]:
    yield "transcript", attempt.transcript.name, "the broker"
    acceptance = attempt.acceptance()
    for gate in acceptance.gates if acceptance is not None else ():
        kind = _KINDS.get(gate.gate)
        if kind is not None and isinstance(gate, Passed | Failed):
            yield from ((kind, name, "the judge") for name in gate.files)


def _hash(path: Path) -> str:
    return hashlib.sha256(read_plain(path)).hexdigest()


def _within(folder: Path, name: str) -> bool:
    """Whether a path that a container wrote leads nowhere else."""
    return (folder / name).resolve().is_relative_to(folder.resolve())
