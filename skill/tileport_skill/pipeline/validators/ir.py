"""Writes both sides' Tile IR into the working folder, a file for each compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tileport_skill.capture.cache import read_bytecode
from tileport_skill.capture.records import Capture
from tileport_skill.emit.entries import Problem as Refusal
from tileport_skill.emit.program import Emitter
from tileport_skill.emit.requests import requests_for
from tileport_skill.tileir.assemble import disassemble


def write_ir(folder: Path, captured: Sequence[Capture], kernel: Path, emitter: Emitter) -> int:
    """`reference/` and `generated/` with the same names; returns how many of the latter there are."""
    modules = emitter.describe(kernel)
    if isinstance(modules, Refusal):
        return 0
    written = 0
    for one_arch in captured:
        asked = requests_for(one_arch, modules)
        answers = iter(emitter.emit(kernel, [one.request for one in asked if one.request is not None]))
        for number, one in enumerate(asked):
            name = f"{one_arch.arch}-{one.launch.kernel.strip('_')}-{number}.tileir"
            if one.launch.port_ir is not None:
                _write(folder / "reference" / name, read_bytecode(one.launch.port_ir.sha256))
            bytecode = next(answers).bytecode if one.request is not None else None
            if bytecode is not None:
                _write(folder / "generated" / name, bytecode)
                written += 1
    return written


def _write(path: Path, bytecode: bytes) -> None:
    """As text to read, and as bytecode to compare: only that can be assembled."""
    text = disassemble(bytecode)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".tileirbc").write_bytes(bytecode)
    path.write_text(text if isinstance(text, str) else f"cannot be read: {text}\n", encoding="utf-8")
