"""The Tile IR of each distinct specialisation, exported by cuTile itself under one entry symbol."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path
from typing import Any

from cuda.tile._compile import compile_tile, parse_bytecode_version
from cuda.tile.compilation import KernelSignature

from tileport_skill.capture import records
from tileport_skill.capture.inside.launches import Compilable

BYTECODE_VERSION = "13.3"
"""Set, since otherwise cuTile would probe `tileiras`; the newest that the Rust side's crate also writes."""


INEXPRESSIBLE_HINTS = ("num_worker_warps",)
"""Hints that cuTile Rust 0.2.0 has no word for (its compiler accepts occupancy, num_cta_in_cga, max_divisibility)."""


def export(found: Compilable, arch: str, symbol: str, folder: Path) -> records.Specialisation:
    """Writes `folder/<sha256>.tileirbc` and returns the record that names it, or says why there is none."""
    set_hints = [name for name in INEXPRESSIBLE_HINTS if getattr(found.record.hints, name) is not None]
    try:
        whole = _exported(found.kernel, found.signature, arch, symbol, folder)
        portable = whole
        if set_hints:
            plain = found.kernel.replace_hints(**dict.fromkeys(set_hints))
            portable = _exported(plain, found.signature, arch, symbol, folder)
    except Exception as refused:
        return dataclasses.replace(found.record, refused=f"{type(refused).__name__}: {refused}"[:600])
    return dataclasses.replace(found.record, ir=whole, portable_ir=portable)


def _exported(kernel: Any, signature: KernelSignature, arch: str, symbol: str, folder: Path) -> records.Bytecode:
    done = compile_tile(
        kernel._annotated_function,
        [KernelSignature(signature.parameters, signature.calling_convention, symbol)],
        sm_arch=arch,
        compiler_options=kernel._compiler_options,
        return_bytecode=True,
        return_cubin=False,
        bytecode_version=parse_bytecode_version(BYTECODE_VERSION),
    )
    bytecode = bytes(done.bytecode)
    name = hashlib.sha256(bytecode).hexdigest()
    _store(folder / f"{name}.tileirbc", bytecode)
    return records.Bytecode(sha256=name, symbol=symbol)


def _store(path: Path, content: bytes) -> None:
    """Appears whole or not at all: captures of several architectures share the folder."""
    if path.exists():
        return
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.write_bytes(content)
    partial.replace(path)
