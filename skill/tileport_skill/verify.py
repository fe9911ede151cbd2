"""Is a port's every compiled kernel the same as the reference's? Capture, emit, compare: no GPU, no build, no model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tileport_skill.capture.cache import read_bytecode
from tileport_skill.capture.records import Array, Capture, Hints, Launch, Specialisation
from tileport_skill.capture.session import capture
from tileport_skill.emit.entries import KernelModule, Problem
from tileport_skill.emit.mapping import Request, Unmapped, choose_entry, request_for
from tileport_skill.emit.program import Emitter
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, Operator
from tileport_skill.tilegym.port_files import port_files
from tileport_skill.tileir.ladder import compare
from tileport_skill.tileir.verdicts import Equal, Unknown, Verdict

WORKERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One compiled kernel of the reference and what the port has for it."""

    arch: str
    kernel: str
    specialisation: str
    dtypes: str
    """Element types of its arrays, `float32` or `bfloat16, int32`."""
    hints: Hints
    entry: str | None
    """The port's entry; `None` if none takes this kernel's parameters."""
    backward_only: bool
    """Whether only autograd's backward pass launched it: a forward-only port lacks it rightly."""
    launches: int
    """Captured launches and tuner configurations this row stands for."""
    test: str
    """The first test that made it."""
    verdict: Verdict
    same_assumptions: bool
    """False where the port's launcher assumes other true facts than cuTile's; then the reference was compiled under
    the port's, and equal bytes show equal behaviour but not equal speed."""
    lost_hints: tuple[str, ...]
    """Hints of the reference that cuTile Rust cannot express."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def counts(self) -> bool:
        """Whether this row can make the whole fail."""
        return self.entry is not None or not self.backward_only


def verify(
    checkout: Checkout, operator: Operator, archs: Sequence[str], workdir: Path, emitter: Emitter
) -> tuple[Row, ...]:
    """Compares the port of `operator` that lies in `checkout` with its reference, for each architecture."""
    kernel = checkout.root / port_files(checkout, operator).kernel
    if not kernel.is_file():
        raise RequestError(f"{operator.name} has no port here: {kernel} does not exist.")
    described = emitter.describe(kernel)
    if isinstance(described, Problem):
        raise RequestError(f"{kernel.name} cannot be read: {described}")
    rows: list[Row] = []
    for captured in capture(checkout, [operator], archs, workdir):
        rows += _rows(captured, kernel, described, emitter)
    if not rows:
        raise RequestError(f"No test of {operator.name} launched a kernel; see {workdir}/<arch>/capture.json.")
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """The launches that compile to one kernel on both sides."""

    launch: Launch
    specialisation: Specialisation
    request: Request | None
    entry: str | None
    reason: str
    count: int


def _rows(captured: Capture, kernel: Path, modules: tuple[KernelModule, ...], emitter: Emitter) -> list[Row]:
    backward_only = {s.kernel for s in captured.specialisations}
    backward_only -= {launch.kernel for launch in captured.launches if not launch.backward}
    pairs = _pairs(captured, modules)
    asked = [pair.request for pair in pairs if pair.request is not None]
    emitted = iter(emitter.emit(kernel, asked))
    sides: list[tuple[_Pair, bytes | None, str]] = []
    for pair in pairs:
        if pair.request is None:
            sides.append((pair, None, pair.reason))
            continue
        answer = next(emitted)
        sides.append((pair, answer.bytecode, f"the port's kernel does not compile: {answer.problem}"))
    with ThreadPoolExecutor(WORKERS) as pool:
        verdicts = list(pool.map(lambda side: _verdict(side[0], side[1], side[2], captured.arch), sides))
    return [
        _row(pair, captured.arch, verdict, pair.specialisation.kernel in backward_only)
        for (pair, _, _), verdict in zip(sides, verdicts, strict=True)
    ]


def _pairs(captured: Capture, modules: tuple[KernelModule, ...]) -> list[_Pair]:
    """Launches grouped by what both sides compile for them."""
    known = {s.id: s for s in captured.specialisations}
    entries = [(module, entry) for module in modules for entry in module.entries]
    found: dict[object, _Pair] = {}
    for launch in captured.launches:
        specialisation = known[launch.specialisation]
        request, entry, reason = None, None, ""
        try:
            module, chosen = choose_entry(entries, launch, specialisation)
            entry = chosen.name
            request = request_for(chosen, launch, specialisation, captured.arch, captured.symbol)
            request = dataclasses.replace(request, module=module.name)
        except Unmapped as unmapped:
            reason = str(unmapped)
        key = (specialisation.id, request)
        if key in found:
            found[key] = dataclasses.replace(found[key], count=found[key].count + 1)
        else:
            found[key] = _Pair(
                launch=launch,
                specialisation=specialisation,
                request=request,
                entry=entry,
                reason=reason,
                count=1,
            )
    return list(found.values())


def _verdict(pair: _Pair, emitted: bytes | None, reason: str, arch: str) -> Verdict:
    if emitted is None:
        return Unknown(reasons=(reason,))
    if pair.launch.port_ir is None:
        return Unknown(reasons=(f"cuTile refused the reference: {pair.specialisation.refused}",))
    return compare(read_bytecode(pair.launch.port_ir.sha256), emitted, arch)


def _row(pair: _Pair, arch: str, verdict: Verdict, backward_only: bool) -> Row:
    specialisation, port_ir = pair.specialisation, pair.launch.port_ir
    hints = specialisation.hints
    return Row(
        arch=arch,
        kernel=specialisation.kernel,
        specialisation=specialisation.id,
        dtypes=", ".join(dict.fromkeys(p.dtype for p in specialisation.parameters if isinstance(p, Array))),
        hints=hints,
        entry=pair.entry,
        backward_only=backward_only,
        launches=pair.count,
        test=pair.launch.test,
        verdict=verdict,
        same_assumptions=specialisation.ir is not None and specialisation.ir == port_ir,
        lost_hints=() if hints.num_worker_warps is None else (f"num_worker_warps={hints.num_worker_warps}",),
    )


def exit_status(rows: Iterable[Row]) -> int:
    """0 all equal, 10 one is different, 11 one is not known to be equal."""
    verdicts = [row.verdict for row in rows if row.counts]
    if any(verdict.verdict == "different" for verdict in verdicts):
        return 10
    return 0 if verdicts and all(isinstance(verdict, Equal) for verdict in verdicts) else 11
