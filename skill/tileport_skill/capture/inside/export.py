"""The Tile IR of each distinct specialisation, exported by cuTile itself under one entry symbol."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path
from typing import Any

from cuda.tile._compile import compile_tile, parse_bytecode_version
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature

from tileport_skill.capture import records
from tileport_skill.capture.inside.launches import Compilable
from tileport_skill.emit.launcher import tensor_facts

BYTECODE_VERSION = "13.3"
"""Set, since otherwise cuTile would probe `tileiras`; the newest that the Rust side's crate also writes."""


INEXPRESSIBLE_HINTS = ("num_worker_warps",)
"""Hints that cuTile Rust 0.2.0 has no word for (its compiler accepts occupancy, num_cta_in_cga, max_divisibility)."""


def export(found: Compilable, arch: str, symbol: str, folder: Path) -> records.Specialisation:
    """Writes `folder/<sha256>.tileirbc` and returns the record that names it, or says why there is none."""
    try:
        made = _exported(found.kernel, found.signature, arch, symbol, folder)
    except Exception as refused:
        return dataclasses.replace(found.record, refused=f"{type(refused).__name__}: {refused}"[:600])
    return dataclasses.replace(found.record, ir=made)


def export_for_port(
    found: Compilable, arguments: tuple[records.Argument, ...], arch: str, symbol: str, folder: Path
) -> records.Bytecode | None:
    """The same kernel compiled under what a port's launcher assumes of the same arguments.

    Those facts are as true as cuTile's own and differ from them: more powers of two, no constant sizes, fewer hints.
    A kernel means the same under any true assumptions, and under these a port can be equal byte for byte.
    """
    parameters = tuple(map(_as_launcher_assumes, found.signature.parameters, arguments))
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), symbol)
    plain = found.kernel.replace_hints(**dict.fromkeys(INEXPRESSIBLE_HINTS))
    try:
        return _exported(plain, signature, arch, symbol, folder)
    except Exception:  # refused under its own facts too, where the reason is recorded
        return None


def _as_launcher_assumes(constraint: Any, argument: records.Argument) -> Any:
    if not isinstance(constraint, ArrayConstraint) or not isinstance(argument, records.TensorArgument):
        return constraint
    facts = tensor_facts("", argument)
    constants = tuple(1 if one else None for one in facts.stride_one)
    return ArrayConstraint(
        constraint.dtype,
        constraint.ndim,
        index_dtype=constraint.index_dtype,
        stride_lower_bound_incl=tuple(None if one else 0 for one in facts.stride_one),
        alias_groups=constraint.alias_groups,
        may_alias_internally=constraint.may_alias_internally,
        stride_constant=constants,
        shape_constant=(None,) * constraint.ndim,
        stride_divisible_by=tuple(1 if one else d for one, d in zip(facts.stride_one, facts.stride_div, strict=True)),
        shape_divisible_by=facts.shape_div,
        base_addr_divisible_by=facts.base_div,
    )


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
