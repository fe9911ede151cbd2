"""The Tile IR of everything that was launched, exported by cuTile itself under one entry symbol."""

from __future__ import annotations

import dataclasses
import hashlib
import multiprocessing
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cuda.tile._compile import _get_bytecode, _IrKeeper, parse_bytecode_version
from cuda.tile._passes.ast2hir import HirMode, get_function_hir
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature

from tileport_skill.capture import records
from tileport_skill.capture.inside.guard import die_with_parent
from tileport_skill.capture.inside.launches import Compilable
from tileport_skill.emit.launcher import tensor_facts

BYTECODE_VERSION = "13.3"
"""Set, since otherwise cuTile would probe `tileiras`; the newest that the Rust side's crate also writes."""
INEXPRESSIBLE_HINTS = ("num_worker_warps",)
"""Hints that cuTile Rust 0.2.0 has no word for (its compiler accepts occupancy, num_cta_in_cga, max_divisibility)."""
WORKERS = 2
LONGEST = 400
WORTH_A_PROCESS = 24
"""Kernels below which a second process costs more than it saves."""

Answer = records.Bytecode | str
"""The bytecode, or why cuTile's compiler refused the kernel."""


@dataclasses.dataclass(slots=True)
class _Job:
    """One kernel under one signature, and every set of hints it is wanted with: these change the last step alone."""

    kernel: Any
    signature: KernelSignature
    options: dict[str, Any]


class Exporter:
    """Collects what is to be compiled, each kernel once, then compiles all of it on two processors."""

    def __init__(self, arch: str, symbol: str, folder: Path) -> None:
        self._arch, self._symbol, self._folder = arch, symbol, folder
        self._jobs: dict[object, _Job] = {}
        self._answers: dict[tuple[object, str], Answer] = {}

    def exported(
        self, found: Iterable[Compilable], launches: Sequence[records.Launch], *, for_ports: bool
    ) -> tuple[tuple[records.Specialisation, ...], tuple[records.Launch, ...]]:
        """Both with the names of their bytecode, which then lies in the folder as `<sha256>.tileirbc`.

        With `for_ports`, each launch also gets its kernel as compiled under what a port's launcher assumes.
        """
        by_id = {one.record.id: one for one in found}
        own = {name: self._ask(one, one.kernel, one.signature) for name, one in by_id.items()}
        ports = [self._ask_for_port(by_id[launch.specialisation], launch.arguments) for launch in launches if for_ports]
        self._compile()
        specialisations = tuple(_answered(by_id[name].record, self._answers[key]) for name, key in own.items())
        return specialisations, tuple(map(self._for_port, launches, ports)) if for_ports else tuple(launches)

    def _ask(self, found: Compilable, kernel: Any, signature: KernelSignature) -> tuple[object, str]:
        key = (id(found.kernel._pyfunc), signature.calling_convention.code, tuple(map(repr, signature.parameters)))
        options = kernel._compiler_options
        self._jobs.setdefault(key, _Job(kernel, signature, {})).options[repr(options)] = options
        return key, repr(options)

    def _ask_for_port(self, found: Compilable, arguments: tuple[records.Argument, ...]) -> tuple[object, str]:
        """The same kernel compiled under what a port's launcher assumes of the same arguments.

        Those facts are as true as cuTile's own and differ from them: more powers of two, no constant sizes, fewer
        hints. A kernel means the same under any true assumptions, and under these a port can be equal byte for byte.
        """
        parameters = tuple(map(_as_launcher_assumes, found.signature.parameters, arguments))
        signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), self._symbol)
        wordless = [name for name in INEXPRESSIBLE_HINTS if getattr(found.record.hints, name) is not None]
        return self._ask(found, found.kernel.replace_hints(**dict.fromkeys(wordless)), signature)

    def _for_port(self, launch: records.Launch, key: tuple[object, str]) -> records.Launch:
        answer = self._answers[key]  # refused under its own facts too, where the reason is recorded
        return dataclasses.replace(launch, port_ir=None if isinstance(answer, str) else answer)

    def _compile(self) -> None:
        """In forked processes where it is worth it: they have every module already, and share their memory."""
        jobs = list(self._jobs.values())
        if len(jobs) < WORTH_A_PROCESS:
            answers = list(map(self._compiled, jobs))
        else:
            _forked.update(exporter=self, jobs=jobs)
            with multiprocessing.get_context("fork").Pool(
                WORKERS, initializer=die_with_parent, initargs=(os.getpid(),)
            ) as pool:
                answers = pool.map(_compiled_in_fork, range(len(jobs)), chunksize=4)
        for key, found in zip(self._jobs, answers, strict=True):
            self._answers |= {(key, options): answer for options, answer in found.items()}

    def _compiled(self, job: _Job) -> dict[str, Answer]:
        """What cuTile's `compile_tile` does, with everything up to the hints done once for all of them."""
        function = job.kernel._annotated_function
        try:
            keeper = _IrKeeper(
                ann_func=function,
                func_hir=get_function_hir(function.pyfunc, mode=HirMode.ENTRY_POINT),
                signatures=[KernelSignature(job.signature.parameters, job.signature.calling_convention, self._symbol)],
                bytecode_version=parse_bytecode_version(BYTECODE_VERSION),
                sm_arch=self._arch,
                log_cutile_ir=False,
                keep_all=True,
            )
            keeper.get_final_ir(0)
        except Exception as refused:
            return dict.fromkeys(job.options, said(refused))
        return {text: self._written(keeper, options) for text, options in job.options.items()}

    def _written(self, keeper: Any, options: Any) -> Answer:
        try:
            bytecode = bytes(_get_bytecode(keeper, options, anonymize_debug_info=False).bytecode)
        except Exception as refused:
            return said(refused)
        name = hashlib.sha256(bytecode).hexdigest()
        _store(self._folder / f"{name}.tileirbc", bytecode)
        return records.Bytecode(sha256=name, symbol=self._symbol)


def export_one(kernel: Any, signature: KernelSignature, arch: str, symbol: str, folder: Path) -> Answer:
    """The bytecode of one kernel, the same bytes that a capture would keep of it."""
    options = kernel._compiler_options
    (answer,) = Exporter(arch, symbol, folder)._compiled(_Job(kernel, signature, {"": options})).values()
    return answer


_forked: dict[str, Any] = {}
"""What the forked processes find in their copy of this module: kernels cannot be sent through a pipe."""


def _compiled_in_fork(number: int) -> dict[str, Answer]:
    return _forked["exporter"]._compiled(_forked["jobs"][number])  # type: ignore[no-any-return]


def said(refused: Exception) -> str:
    """One line, `TileTypeError: ... (softmax.py:22)`: the compiler's own text goes on with the source and its path."""
    text = str(refused)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    place = re.search(r'"[^"\n]*?([^"/\n]+)", line (\d+)', text)
    where = f" ({place[1]}:{place[2]})" if place else ""
    return f"{type(refused).__name__}: {first[:LONGEST]}{where}"


def _answered(record: records.Specialisation, answer: Answer) -> records.Specialisation:
    if isinstance(answer, str):
        return dataclasses.replace(record, refused=answer)
    return dataclasses.replace(record, ir=answer)


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


def _store(path: Path, content: bytes) -> None:
    """Appears whole or not at all: captures of several architectures share the folder."""
    if path.exists():
        return
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.write_bytes(content)
    partial.replace(path)
