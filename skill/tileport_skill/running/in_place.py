"""The port's kernels against PyTorch: its Tile IR is run where the operator's host code launches the reference's."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from tileport_skill.capture.cache import cache_folder
from tileport_skill.capture.records import Capture
from tileport_skill.emit.entries import KernelModule
from tileport_skill.emit.mapping import Request
from tileport_skill.emit.program import Emitter
from tileport_skill.emit.requests import requests_for
from tileport_skill.running.pytorch import Agreement, chosen, interpret, judged
from tileport_skill.running.text_key import text_key
from tileport_skill.tilegym.operators import Checkout, Operator

EACH, SECONDS = 1, 60
"""Tests of each kernel, the cheapest, and the processor's seconds that one may take."""


def against_pytorch(
    checkout: Checkout,
    operator: Operator,
    captured: Capture,
    kernel: Path,
    modules: tuple[KernelModule, ...],
    emitter: Emitter,
    folder: Path,
) -> list[Agreement]:
    """One line for each kernel of the operator. `folder` receives the bytecode that was run."""
    tests = chosen(captured, [operator], EACH)
    ports = _emitted(captured, tests, kernel, modules, emitter, folder)
    records = interpret(checkout, [operator], tests, SECONDS, arch=captured.arch, ports=ports) if tests else []
    return judged([operator], records)


def _emitted(
    captured: Capture,
    tests: Sequence[str],
    kernel: Path,
    modules: tuple[KernelModule, ...],
    emitter: Emitter,
    folder: Path,
) -> dict[str, str]:
    """The file of the port's bytecode for each of the reference's that the tests launch, by that one's key."""
    launches = tuple(launch for launch in captured.launches if launch.test in tests and launch.purpose == "launch")
    known = {one.id: one for one in captured.specialisations}
    wanted: dict[str, Request] = {}
    for asked in requests_for(dataclasses.replace(captured, launches=launches), modules):
        reference = known[asked.launch.specialisation].ir
        if asked.request is not None and reference is not None:
            key = text_key(cache_folder("ir") / f"{reference.sha256}.tileirbc")
            wanted.setdefault(key, _assuming_nothing(asked.request))
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for key, answer in zip(wanted, emitter.emit(kernel, list(wanted.values())), strict=True):
        if answer.bytecode is not None:
            path = folder / f"{key[:16]}.tileirbc"
            path.write_bytes(answer.bytecode)
            files[key] = str(path.resolve())
    return files


def _assuming_nothing(request: Request) -> Request:
    """The same kernel without what the launcher derives from one launch's numbers: it has to be right for all."""
    tensors = tuple(
        dataclasses.replace(
            facts,
            shape_div=(1,) * len(facts.shape_div),
            stride_div=(1,) * len(facts.stride_div),
            base_div=1,
        )
        for facts in request.tensors
    )
    scalars = tuple((name, 1) for name, _ in request.scalars)
    return dataclasses.replace(request, tensors=tensors, scalars=scalars)
