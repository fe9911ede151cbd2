"""`analysis.json`: what a port of an operator must know, read off its captures. Pure but for reading source files."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tileport_skill.capture.grids import fit_grid
from tileport_skill.capture.hostwork import HostWork, host_work
from tileport_skill.capture.records import (
    FORBID,
    Array,
    Capture,
    Constant,
    Hints,
    KernelKey,
    Scalar,
    Specialisation,
)
from tileport_skill.capture.selectors import Selector, selectors_of
from tileport_skill.capture.sources import kernel_sources, versions_of
from tileport_skill.capture.triton import Dumped
from tileport_skill.tilegym.operators import REFERENCE_BACKEND, Checkout, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterUse:
    """One parameter of a kernel over all its launches."""

    name: str
    kind: Literal["array", "scalar", "constant", "mixed"]
    types: tuple[str, ...]
    """Element types of an array, types of a scalar or a constant."""
    values: tuple[str, ...]
    """A constant's values, in order of appearance; two or more make it a const generic of a port."""
    ranks: tuple[int, ...]
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningSpace:
    """What the tuner tries on one architecture, over all shapes of the tests."""

    arch: str
    hints: tuple[Hints, ...]
    configurations: tuple[str, ...]
    """In the reference's own spelling: tile sizes are constants of the kernel, not hints."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One kernel of the operator."""

    kernel: str
    module: str
    code: str
    """Tells it from another kernel of the same name and module."""
    source_sha256: str | None
    """Of the kernel's own text; `None` if its module is not in the checkout."""
    launches: int
    specialisations: int
    backward_only: bool
    parameters: tuple[ParameterUse, ...]
    grid: tuple[str | None, ...]
    """One expression per dimension that fits every launch, or `None`."""
    tuning: tuple[TuningSpace, ...]
    selected_by: tuple[Selector, ...]
    """Predicates learnt from the captured calls, one for each function that launches it."""
    examples: tuple[str, ...]
    """The first tests that launch it."""
    reference_hints: tuple[Hints, ...]
    """What the reference launches it with, untuned."""
    host: tuple[HostWork, ...]
    """What the host does around its launches, beside views."""
    refused: tuple[str, ...]
    ir: tuple[str, ...]
    """Hashes of its exported Tile IR, sorted."""
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """What the tests allow, as they state it."""

    relative: float | None
    absolute: float | None
    tests: int
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSequence:
    """Kernels that one call of the operator launches, in order."""

    kernels: tuple[str, ...]
    calls: int
    __pydantic_config__: ClassVar = FORBID


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Everything a program can say about an operator before anyone ports it."""

    operator: str
    aliases: tuple[str, ...]
    reference: str
    reference_sha256: str
    baseline: str
    baseline_reason: str
    archs: tuple[str, ...]
    variants: tuple[Variant, ...]
    unlaunched: tuple[str, ...]
    """Kernels of the reference that no test launches."""
    tolerances: tuple[Tolerance, ...]
    sequences: tuple[KernelSequence, ...]
    failures: tuple[str, ...]
    """Tests that could not be captured: test, line, reason."""
    idle: tuple[str, ...]
    """Tests that passed and launched nothing."""
    triton: tuple[Dumped, ...]
    """References of Triton's Tile IR backend, where a dump was given."""
    versions: dict[str, str]
    schema: Literal[2] = 2
    __pydantic_config__: ClassVar = FORBID


def analyse(
    checkout: Checkout, operator: Operator, captures: Sequence[Capture], triton: tuple[Dumped, ...] = ()
) -> Analysis:
    """The analysis of one operator from its captures, one for each architecture."""
    source = (checkout.root / operator.reference).read_bytes()
    sources = kernel_sources(checkout, {s.module for captured in captures for s in captured.specialisations})
    keys = dict.fromkeys(s.key for captured in captures for s in captured.specialisations)
    variants = [_variant(key, captures, sources) for key in keys]
    launched = {variant.kernel.rpartition(".")[2] for variant in variants}
    failures = [
        f"{test.id} ({captured.arch}), {test.where or 'while it was collected'}: {test.reason}"
        for captured in captures
        for test in captured.tests
        if test.status == "failed"
    ]
    return Analysis(
        operator=operator.name,
        aliases=operator.aliases,
        reference=operator.reference,
        reference_sha256=hashlib.sha256(source).hexdigest(),
        baseline=REFERENCE_BACKEND,
        baseline_reason=(
            "the reference whose launches were captured"
            if triton
            else "the reference that was captured; no Triton-TileIR dump was given"
        ),
        archs=tuple(captured.arch for captured in captures),
        variants=tuple(variants),
        unlaunched=tuple(kernel for kernel in operator.kernels if kernel not in launched),
        tolerances=_tolerances(captures),
        sequences=_sequences(captures),
        failures=tuple(failures),
        idle=tuple(dict.fromkeys(t.id for c in captures for t in c.tests if t.status == "passed" and not t.launches)),
        triton=triton,
        versions={**(captures[0].versions if captures else {}), **versions_of(checkout)},
    )


def _only(captures: Sequence[Capture], key: KernelKey) -> list[Capture]:
    """The captures with nothing but this kernel in them; the tables that numbers point into stay whole."""
    found = []
    for captured in captures:
        own = {s.id for s in captured.specialisations if s.key == key}
        specialisations = tuple(s for s in captured.specialisations if s.id in own)
        launches = tuple(launch for launch in captured.launches if launch.specialisation in own)
        found.append(dataclasses.replace(captured, specialisations=specialisations, launches=launches))
    return found


def _variant(key: KernelKey, captures: Sequence[Capture], sources: dict[tuple[str, str], str]) -> Variant:
    own = _only(captures, key)
    known = {(c.arch, s.id): s for c in own for s in c.specialisations}
    pairs = [(launch, known[c.arch, launch.specialisation]) for c in own for launch in c.launches]
    irs = {s.ir.sha256 for s in known.values() if s.ir is not None}
    return Variant(
        kernel=key.kernel,
        module=key.module,
        code=key.code,
        source_sha256=sources.get((key.module, key.kernel.rpartition(".")[2])),
        launches=sum(launch.purpose == "launch" for launch, _ in pairs),
        specialisations=len(known),
        backward_only=all(launch.backward for launch, _ in pairs),
        parameters=_parameters(list(known.values())),
        grid=fit_grid(pairs),
        tuning=tuple(map(_tuning, own)),
        selected_by=selectors_of(key, captures),
        examples=tuple(dict.fromkeys(launch.test for launch, _ in pairs))[:5],
        reference_hints=tuple(dict.fromkeys(s.hints for launch, s in pairs if launch.purpose == "launch")),
        host=host_work(own),
        refused=tuple(dict.fromkeys(s.refused for s in known.values() if s.refused is not None)),
        ir=tuple(sorted(irs)),
    )


def _parameters(specialisations: list[Specialisation]) -> tuple[ParameterUse, ...]:
    found = []
    for position, first in enumerate(specialisations[0].parameters):
        uses = [s.parameters[position] for s in specialisations if position < len(s.parameters)]
        kinds = {use.kind for use in uses}
        kind = kinds.pop() if len(kinds) == 1 else "mixed"
        types = [use.dtype if isinstance(use, Array | Scalar) else getattr(use, "type", "") for use in uses]
        found.append(
            ParameterUse(
                name=first.name,
                kind=kind if kind in ("array", "scalar", "constant") else "mixed",
                types=tuple(dict.fromkeys(types)),
                values=tuple(dict.fromkeys(use.text for use in uses if isinstance(use, Constant))),
                ranks=tuple(dict.fromkeys(use.ndim for use in uses if isinstance(use, Array))),
            )
        )
    return tuple(found)


def _tuning(captured: Capture) -> TuningSpace:
    known = {s.id: s for s in captured.specialisations}
    tried = [one for one in captured.launches if one.purpose == "tune"]
    return TuningSpace(
        arch=captured.arch,
        hints=tuple(dict.fromkeys(known[one.specialisation].hints for one in tried)),
        configurations=tuple(dict.fromkeys(one.configuration for one in tried if one.configuration is not None)),
    )


def _sequences(captures: Sequence[Capture]) -> tuple[KernelSequence, ...]:
    calls: dict[tuple[str, str, int], tuple[str, ...]] = {}
    for captured in captures:
        for launch in captured.launches:
            if launch.purpose == "launch":
                key = (captured.arch, launch.test, launch.call)
                calls[key] = (*calls.get(key, ()), launch.kernel)
    counts = Counter(calls.values())
    return tuple(KernelSequence(kernels=kernels, calls=n) for kernels, n in counts.most_common())


def _tolerances(captures: Sequence[Capture]) -> tuple[Tolerance, ...]:
    stated: dict[tuple[float | None, float | None], int] = {}
    for captured in captures[:1]:
        for test in captured.tests:
            for pair in test.tolerances:
                stated[pair] = stated.get(pair, 0) + 1
    return tuple(Tolerance(relative=r, absolute=a, tests=n) for (r, a), n in stated.items())
