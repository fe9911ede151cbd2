"""READ FIRST. What a kernel is run on: the cheapest launch of each of its variants, with contents and what comes of it.

Launches are the tests' own; contents come from a seed; results are the interpreter's, of the reference's Tile IR.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tileport_skill.capture.cache import read_bytecode
from tileport_skill.capture.records import Capture, Specialisation
from tileport_skill.emit.entries import ConstGeneric, EntryParameter, KernelModule
from tileport_skill.emit.entries import Entry as PortEntry
from tileport_skill.emit.mapping import Request
from tileport_skill.emit.requests import Asked, requests_for
from tileport_skill.launch_shapes import shapes_of
from tileport_skill.tileir.assemble import Refused, disassemble
from tileport_skill.tileir.inputs import TooLarge, fill_launch
from tileport_skill.tileir.interpret import Limits, TooLong, run
from tileport_skill.tileir.launch import ArrayShape, Launch, LaunchShape, Outcome
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.parse import parse

SEED, STYLE = 1, "grid"
"""Multiples of a quarter: sums of them are exact in any order, so that two sums of them can be compared."""
BLOCK = 4000
"""What starting a block costs the interpreter, in elements."""
OPERATIONS = 2_000_000
"""Of the interpreter, for one case: some tens of seconds, and the same cases on every machine. A variant without a
cheaper launch is left out, and said to be."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One launch of one entry of `kernel.rs`."""

    name: str
    """`scale_f32`: the entry and its element types."""
    module: str
    entry: PortEntry
    request: Request
    launch: Launch
    outcome: Outcome

    @property
    def parameters(self) -> tuple[EntryParameter, ...]:
        return self.entry.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A variant of which no launch can be run, and why."""

    name: str
    why: str


def cases_of(
    captured: Capture, modules: tuple[KernelModule, ...], operations: int = OPERATIONS
) -> tuple[tuple[Case, ...], tuple[LeftOut, ...]]:
    """A case for each entry and set of element types that the launches ask of `modules`."""
    found: list[Case] = []
    out: list[LeftOut] = []
    for name, asked in _variants(captured, modules).items():
        made = _case(name, captured, modules, asked, operations)
        (found if isinstance(made, Case) else out).append(made)  # type: ignore[arg-type]
    return tuple(found), tuple(out)


def _variants(captured: Capture, modules: tuple[KernelModule, ...]) -> dict[str, Asked]:
    """The cheapest launch of each, by name."""
    entries = {(module.name, entry.name): entry for module in modules for entry in module.entries}
    best: dict[str, tuple[float, Asked]] = {}
    for asked in requests_for(captured, modules):
        if asked.request is None or asked.request.module is None or asked.launch.port_ir is None:
            continue
        entry = entries[asked.request.module, asked.request.entry]
        name = "_".join([entry.name, *_types(entry, asked.request)])
        cost = min(map(_cost, _shapes(captured, asked)), default=math.inf)
        if name not in best or cost < best[name][0]:
            best[name] = (cost, asked)
    return {name: asked for name, (_, asked) in sorted(best.items())}


def _types(entry: PortEntry, request: Request) -> Iterator[str]:
    for generic, bound in zip(entry.generics, request.generics, strict=True):
        if not isinstance(generic, ConstGeneric):
            yield bound


def _shapes(captured: Capture, asked: Asked) -> tuple[LaunchShape, ...]:
    return shapes_of(_specialisation(captured, asked), captured.launches)


def _specialisation(captured: Capture, asked: Asked) -> Specialisation:
    return next(one for one in captured.specialisations if one.id == asked.launch.specialisation)


def _cost(shape: LaunchShape) -> float:
    return BLOCK * math.prod(shape.grid) + sum(one.end for one in shape.arguments if isinstance(one, ArrayShape))


def _case(
    name: str, captured: Capture, modules: Sequence[KernelModule], asked: Asked, operations: int
) -> Case | LeftOut:
    request = asked.request
    assert request is not None
    assert asked.launch.port_ir is not None
    text = disassemble(read_bytecode(asked.launch.port_ir.sha256))
    shapes = sorted(_shapes(captured, asked), key=_cost)
    if isinstance(text, Refused) or not shapes:
        return LeftOut(name=name, why="the interpreter has no words for its arguments")
    reference = parse(text).entries[0]
    blocks = math.prod(shapes[0].grid)
    try:
        launch = fill_launch(reference, shapes[0], SEED, STYLE)
        limits = Limits(operations=operations, blocks=blocks)
        outcome = run(reference, launch, limits)
    except (Unsupported, TooLarge, TooLong) as error:
        return LeftOut(name=name, why=f"the interpreter gave it up: {error}")
    if outcome.findings:
        return LeftOut(name=name, why=f"with contents of ours it has no meaning: {outcome.findings[0].text}")
    module, entry = next(
        (module, entry)
        for module in modules
        for entry in module.entries
        if (module.name, entry.name) == (request.module, request.entry)
    )
    return Case(
        name=name,
        module=module.name,
        entry=entry,
        request=request,
        launch=launch,
        outcome=outcome,
    )
