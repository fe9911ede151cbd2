"""The Tile IR of each distinct specialisation, exported by cuTile itself under one entry symbol."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path

from cuda.tile._compile import compile_tile, parse_bytecode_version
from cuda.tile.compilation import KernelSignature

from tileport_skill.capture import records
from tileport_skill.capture.inside.launches import Compilable

BYTECODE_VERSION = "13.3"
"""Set, since otherwise cuTile would probe `tileiras`; the newest that the Rust side's crate also writes."""


def export(found: Compilable, arch: str, symbol: str, folder: Path) -> records.Specialisation:
    """Writes `folder/<sha256>.tileirbc` and returns the record that names it, or says why there is none."""
    signature = KernelSignature(found.signature.parameters, found.signature.calling_convention, symbol)
    try:
        done = compile_tile(
            found.kernel._annotated_function,
            [signature],
            sm_arch=arch,
            compiler_options=found.kernel._compiler_options,
            return_bytecode=True,
            return_cubin=False,
            bytecode_version=parse_bytecode_version(BYTECODE_VERSION),
        )
    except Exception as refused:
        return dataclasses.replace(found.record, refused=f"{type(refused).__name__}: {refused}"[:600])
    bytecode = bytes(done.bytecode)
    name = hashlib.sha256(bytecode).hexdigest()
    _store(folder / f"{name}.tileirbc", bytecode)
    return dataclasses.replace(found.record, ir=records.Bytecode(sha256=name, symbol=symbol))


def _store(path: Path, content: bytes) -> None:
    """Appears whole or not at all: captures of several architectures share the folder."""
    if path.exists():
        return
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.write_bytes(content)
    partial.replace(path)
