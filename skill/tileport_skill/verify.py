"""Is a port's every compiled kernel the same as the reference's? Capture, emit, compare: no GPU, no build, no model."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

from tileport_skill.capture.cache import read_bytecode
from tileport_skill.capture.records import AGAIN, Array, Capture, Constant, Hints, Launch, PortRecording, Specialisation
from tileport_skill.capture.session import capture, record_port
from tileport_skill.emit.entries import Problem
from tileport_skill.emit.pairing import paired
from tileport_skill.emit.program import Emitted, Emitter
from tileport_skill.emit.requests import requests_for
from tileport_skill.emit.rules import explained
from tileport_skill.emit.symbol import rename_entry
from tileport_skill.errors import RequestError
from tileport_skill.launch_shapes import fixed_by_reference, kept_by_launcher, shapes_of
from tileport_skill.tilegym.operators import Checkout, Operator
from tileport_skill.tilegym.port_files import port_files
from tileport_skill.tileir.assemble import Refused, disassemble
from tileport_skill.tileir.bare import bare
from tileport_skill.tileir.ladder import compare
from tileport_skill.tileir.outline import Outline, outline_of
from tileport_skill.tileir.parse import ParseError
from tileport_skill.tileir.search import Budget
from tileport_skill.tileir.verdicts import Equal, Unknown, Verdict

WORKERS = 2
BUDGET = Budget(inputs=10, attempts=60, seconds=6.0, assembling=60.0, graphs_first=True)
"""For one pair of compiled kernels: a verdict is given within it, be it `unknown`. The assembler takes a minute for
some attentions; of what multiplies matrices it is asked where dataflow leaves something open."""
ANY_SPEED = dataclasses.replace(BUDGET, any_speed=True)
"""Where equal results are asked for, at any speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One compiled kernel of the reference and what the port has for it."""

    arch: str
    kernel: str
    specialisation: str
    dtypes: str
    """Element types of its arrays, `float32` or `bfloat16, int32`."""
    constants: str
    """What its `Constant` parameters were bound to: `TILE_SIZE=1024, HIDDEN=1000`."""
    hints: Hints
    entry: str | None
    """The port's entry; `None` if none takes this kernel's parameters."""
    backward_only: bool
    """Whether only autograd's backward pass launched it, or a test of it that the port refused: a forward-only port
    lacks it rightly."""
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
    untried: bool = False
    """A configuration that the reference's tuner tries and the port's leaves out: it has nothing to be wrong."""
    port_bytecode: str | None = None
    """SHA-256 of the port's bytecode as its launcher handed it over; None where it was emitted, or there is none."""
    port_kernel: str | None = None
    """`Bare.sha256` of the same, where it was found equal; None too where that kernel cannot be read."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def awkward(self) -> bool:
        """Whether no test launches it: only a test's call made again with awkward arguments does."""
        return AGAIN in self.test

    @property
    def counts(self) -> bool:
        """Whether this row can make the whole fail."""
        return not self.untried and (self.entry is not None or not self.backward_only)


def verify(
    checkout: Checkout,
    operator: Operator,
    archs: Sequence[str],
    workdir: Path,
    emitter: Emitter | None,
    library: Path | None = None,
    *,
    reference: Checkout | None = None,
    tuning: bool = True,
    again: bool = False,
    sample: int | None = None,
    budget: Budget = BUDGET,
) -> tuple[Row, ...]:
    """Compares the port of `operator` that lies in `checkout` with its reference, for each architecture.

    With `library`, the port as built, its own wrapper and launcher say what it launches for the same tests; without,
    `kernel.rs` alone is compiled for what the reference launches, its parameters taken to be the reference's.
    `reference` is a checkout without the port, for when the port's own code must have no part in capturing it. Without
    `tuning` only the untuned launches are compared: the others differ from them in hints alone. With `again` the tests'
    calls are also made with awkward arguments; of what only these launch, equal results at any speed are asked: no gate
    times them, and cuTile Rust 0.2.0 cannot promise all that cuTile Python does of them. With `sample` only so many
    kernels of each architecture are compared, spread evenly, and the rest are `unknown`. `budget` bounds each.
    """
    kernel = checkout.root / port_files(checkout, operator).kernel
    if not kernel.is_file():
        raise RequestError(f"{operator.name} has no port here: {kernel} does not exist.")

    def look(arch: str) -> tuple[Capture, list[_Sides]]:
        (captured,) = capture(reference or checkout, [operator], [arch], workdir, tuning=tuning, again=again)
        if library is not None:
            (recorded,) = record_port(checkout, [operator], [arch], workdir, library, tuning=tuning, again=again)
            return captured, _recorded(captured, recorded)
        if emitter is not None:
            return captured, _emitted(captured, kernel, emitter)
        raise RequestError("Give the emitter program, or the port's built library.")

    with ThreadPoolExecutor(WORKERS) as pool:  # each architecture is a child process on one processor
        looked = list(pool.map(look, archs))
    rows = [row for captured, sides in looked for row in _rows(captured, sides, sample, budget)]
    if not rows:
        raise RequestError(f"No test of {operator.name} launched a kernel; see {workdir}/<arch>/capture.json.")
    return tuple(rows)


def verify_kernel(
    captured: Capture,
    kernel: Path,
    emitter: Emitter,
    *,
    chosen: Mapping[str, str] | None = None,
    budget: Budget = BUDGET,
) -> list[Row]:
    """Compares a `kernel.rs`, wherever it lies, with everything in `captured`; `chosen` is as for `requests_for`."""
    return _rows(captured, _emitted(captured, kernel, emitter, chosen), None, budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """The launches that compile to one kernel on both sides."""

    launch: Launch
    specialisation: Specialisation
    entry: str | None
    bytecode: bytes | None
    reason: str
    """Why there is no bytecode of the port."""
    count: int = 1
    refused: bool = False
    untried: bool = False
    recorded: str | None = None
    """SHA-256 of the bytecode as the launcher handed it over."""

    @property
    def awkward(self) -> bool:
        return AGAIN in self.launch.test


def _emitted(
    captured: Capture, kernel: Path, emitter: Emitter, chosen: Mapping[str, str] | None = None
) -> list[_Sides]:
    captured = _tests_first(captured)
    modules = emitter.describe(kernel)
    if isinstance(modules, Problem):
        raise RequestError(f"{kernel.name} cannot be read: {explained(modules)}")
    asked = requests_for(captured, modules, chosen=chosen)
    answers = iter(emitter.emit(kernel, [one.request for one in asked if one.request is not None]))
    known = {s.id: s for s in captured.specialisations}
    sides = []
    for one in asked:
        answer = next(answers) if one.request is not None else Emitted(bytecode=None, problem=None)
        problem = answer.problem
        sides.append(
            _Sides(
                launch=one.launch,
                specialisation=known[one.launch.specialisation],
                entry=None if one.request is None else one.request.entry,
                bytecode=answer.bytecode,
                reason=f"the port's kernel does not compile: {explained(problem)}" if problem else one.reason,
                count=one.count,
            )
        )
    return sides


def _recorded(captured: Capture, recorded: PortRecording) -> list[_Sides]:
    captured = _tests_first(captured)
    known = {s.id: s for s in captured.specialisations}
    found: dict[object, _Sides] = {}
    for pair in paired(captured, recorded, partial(_outline, captured.arch)):
        port = pair.port
        key = (pair.launch.specialisation, port.ir if port else pair.reason)
        if key in found:
            found[key] = dataclasses.replace(found[key], count=found[key].count + 1)
            continue
        bytecode = None
        if port is not None:
            bytecode = rename_entry(read_bytecode(port.ir.sha256), port.ir.symbol, captured.symbol)
        found[key] = _Sides(
            launch=pair.launch,
            specialisation=known[pair.launch.specialisation],
            entry=port.ir.symbol.removesuffix("_entry") if port else None,
            bytecode=bytecode,
            reason=pair.reason,
            refused=pair.refused,
            untried=pair.untried,
            recorded=port.ir.sha256 if port else None,
        )
    return list(found.values())


def _tests_first(captured: Capture) -> Capture:
    """So that a kernel which a test launches is never said to be launched by awkward calls alone."""
    return dataclasses.replace(captured, launches=tuple(sorted(captured.launches, key=lambda one: AGAIN in one.test)))


@cache
def _outline(arch: str, sha256: str) -> Outline | str:
    """The same for two kernels that cannot be read only if they are one."""
    text = disassemble(read_bytecode(sha256))
    try:
        return f"bytecode {sha256}" if isinstance(text, Refused) else outline_of(text, arch)
    except ParseError:
        return f"bytecode {sha256}"


def _rows(captured: Capture, sides: list[_Sides], sample: int | None, budget: Budget) -> list[Row]:
    forward = {launch.kernel for launch in captured.launches if not launch.backward}
    judge = _Judge(captured, budget)
    chosen = _spread(len(sides), sample)
    with ThreadPoolExecutor(WORKERS) as pool:
        verdicts = list(pool.map(lambda at: judge(sides[at]) if at in chosen else _NOT_SAMPLED, range(len(sides))))
    return [
        _row(side, captured.arch, verdict, side.refused or side.specialisation.kernel not in forward)
        for side, verdict in zip(sides, verdicts, strict=True)
    ]


_NOT_SAMPLED = Unknown(reasons=("not compared: outside the sample that was asked for",))


def _spread(count: int, most: int | None) -> frozenset[int]:
    """Which of `count` places are looked at, evenly spread."""
    if most is None or most >= count:
        return frozenset(range(count))
    return frozenset(round(n * (count - 1) / max(1, most - 1)) for n in range(most))


class _Judge:
    """Compares pairs, each different one once: a tuner's configurations often compile to the same two kernels."""

    def __init__(self, captured: Capture, budget: Budget) -> None:
        self.captured, self.budget = captured, budget
        self.known: dict[object, Verdict] = {}

    def __call__(self, side: _Sides) -> Verdict:
        if side.bytecode is None:
            return Unknown(reasons=(side.reason,))
        if side.launch.port_ir is None:
            return Unknown(reasons=(f"cuTile refused the reference: {side.specialisation.refused}",))
        launches = shapes_of(side.specialisation, self.captured.launches)
        kept = kept_by_launcher(side.specialisation, side.launch)
        fixed = fixed_by_reference(side.specialisation)
        key = (side.launch.port_ir.sha256, side.bytecode, launches, tuple(kept.items()), tuple(fixed.items()))
        if key not in self.known:
            reference = read_bytecode(side.launch.port_ir.sha256)
            budget = dataclasses.replace(self.budget, any_speed=True) if side.awkward else self.budget
            self.known[key] = compare(reference, side.bytecode, self.captured.arch, budget, launches, kept, fixed)
        return self.known[key]


def _row(pair: _Sides, arch: str, verdict: Verdict, backward_only: bool) -> Row:
    specialisation, port_ir = pair.specialisation, pair.launch.port_ir
    hints = specialisation.hints
    return Row(
        arch=arch,
        kernel=specialisation.kernel,
        specialisation=specialisation.id,
        dtypes=", ".join(dict.fromkeys(p.dtype for p in specialisation.parameters if isinstance(p, Array))),
        constants=", ".join(f"{p.name}={p.text}" for p in specialisation.parameters if isinstance(p, Constant)),
        hints=hints,
        entry=pair.entry,
        backward_only=backward_only,
        launches=pair.count,
        test=pair.launch.test,
        verdict=verdict,
        same_assumptions=specialisation.ir is not None and specialisation.ir == port_ir,
        lost_hints=() if hints.num_worker_warps is None else (f"num_worker_warps={hints.num_worker_warps}",),
        untried=pair.untried,
        port_bytecode=pair.recorded,
        port_kernel=_bare(pair.recorded) if pair.recorded and isinstance(verdict, Equal) else None,
    )


@cache
def _bare(sha256: str) -> str | None:
    kernel = bare(read_bytecode(sha256))
    return kernel.sha256 if kernel.text else None


def answered_for(rows: Iterable[Row]) -> tuple[Row, ...]:
    """What a built port has to answer for, of all that can make the whole fail.

    What awkward calls alone launch speaks against it only where it is wrong: a port may refuse such a call, or copy its
    inputs first, and the correctness gate refuses what it launches there unproved.
    """
    return tuple(row for row in rows if row.counts and not (row.awkward and isinstance(row.verdict, Unknown)))


def exit_status(rows: Iterable[Row]) -> int:
    """0 all equal, 10 one is different, 11 one is not known to be equal."""
    verdicts = [row.verdict for row in rows if row.counts]
    if any(verdict.verdict == "different" for verdict in verdicts):
        return 10
    return 0 if verdicts and all(isinstance(verdict, Equal) for verdict in verdicts) else 11
