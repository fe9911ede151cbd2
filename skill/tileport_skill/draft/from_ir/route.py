"""READ FIRST in this folder. A kernel's entries from its Tile IR, where the Python source is not translated.

    specialisations ──samples──▶ Tile IR ──merge──▶ one structure, its slots filled ──literal──▶ Rust entry
                                                                                     names from the source (hints)

Each entry says by its variant's `guard` which calls it is for.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

from tileport_skill.capture.records import Specialisation
from tileport_skill.draft import rust
from tileport_skill.draft.derived import Derived
from tileport_skill.draft.from_ir.folds import STEPS
from tileport_skill.draft.from_ir.guards import guards
from tileport_skill.draft.from_ir.hints import hints_of
from tileport_skill.draft.from_ir.literal import write
from tileport_skill.draft.from_ir.made_up import made_up
from tileport_skill.draft.from_ir.merge import Merged, merged
from tileport_skill.draft.from_ir.proof import Prover
from tileport_skill.draft.from_ir.samples import Sample, read_samples
from tileport_skill.draft.kernel import Entry, derivations, safety, unused_marked
from tileport_skill.draft.naming import constant_name, function_name, snake
from tileport_skill.draft.printer import print_block
from tileport_skill.draft.source import Source
from tileport_skill.draft.values import Untranslatable
from tileport_skill.emit.program import Emitter
from tileport_skill.tilegym.operators import Checkout
from tileport_skill.tileir.records import Op


class TileIr:
    """Writes kernels of one operator from their Tile IR. All are compiled at once, when the first is asked for."""

    def __init__(
        self,
        checkout: Checkout,
        specialisations: Sequence[Specialisation],
        arch: str,
        *,
        declare: bool,
        emitter: Callable[[], Emitter] | None,
    ) -> None:
        """With an `emitter` the entries are folded as far as the proof holds; without they stay literal."""
        self._checkout, self._arch, self._declare = checkout, arch, declare
        self._known = specialisations
        self._emitter = emitter

    def entries(self, kernel: str, source: Source) -> list[Entry]:
        """The entries of one kernel. Raises `Untranslatable` naming the operation and its line of the source."""
        samples, reasons = self._read
        mine = [one for one in samples if one.specialisation.kernel == kernel]
        if not any(one.captured for one in mine):
            own = {one.id for one in self._known if one.kernel == kernel}
            raise Untranslatable(next((reasons[id] for id in own if id in reasons), "it was never captured"))
        entries = entries_of(mine, source, declare=self._declare)
        if self._emitter is not None:
            prover = Prover(self._emitter(), self._arch, declare=self._declare)
            entries = [folded(one, _samples_of(one, mine), prover) for one in entries]
        return [_with_hinted(one, self._known) for one in entries]

    @functools.cached_property
    def _read(self) -> tuple[list[Sample], dict[str, str]]:
        distinct = list({(one.kernel, repr(one.parameters)): one for one in self._known}.values())
        more: list[Specialisation] = []
        for kernel in dict.fromkeys(one.kernel for one in distinct):
            more += made_up([one for one in distinct if one.kernel == kernel])
        return read_samples(self._checkout, distinct, more, self._arch)


def folded(entry: Entry, samples: Sequence[Sample], prover: Prover) -> Entry:
    """The entry after every step that leaves it equal to its samples."""
    kept = {snake(n.id) for n in ast.walk(entry.source.tree) if isinstance(n, ast.Name)}
    for _, step in STEPS:
        body = step(entry.entry.body, kept)
        if body == entry.entry.body:
            continue
        shorter = dataclasses.replace(entry, entry=_marked(dataclasses.replace(entry.entry, body=body)))
        if prover.holds(shorter, samples, before=entry):
            entry = shorter
    return entry


def _marked(function: rust.Function) -> rust.Function:
    parameters = [text.removeprefix("_") for text in function.parameters]
    return dataclasses.replace(function, parameters=tuple(unused_marked(parameters, print_block(function.body))))


def _samples_of(entry: Entry, samples: Sequence[Sample]) -> list[Sample]:
    own = {one.id for one in entry.variant.specialisations}
    return [one for one in samples if one.specialisation.id in own]


def _with_hinted(entry: Entry, specialisations: Sequence[Specialisation]) -> Entry:
    """The entry with those specialisations too that differ from its own in hints alone."""
    own = {repr(one.parameters) for one in entry.variant.specialisations}
    alike = tuple(one for one in specialisations if one.kernel == entry.kernel and repr(one.parameters) in own)
    return dataclasses.replace(entry, variant=dataclasses.replace(entry.variant, specialisations=alike))


def entries_of(samples: Sequence[Sample], source: Source, *, declare: bool) -> list[Entry]:
    """The same from the samples alone."""
    found = merged(samples)
    conditions = guards([[sample.specialisation for sample in one.samples] for one in found])
    entries = [_entry(one, guard, source, declare=declare) for one, guard in zip(found, conditions, strict=True)]
    if len(entries) == 1:
        return entries
    return [
        dataclasses.replace(one, entry=dataclasses.replace(one.entry, name=f"{one.entry.name}_{number}"))
        for number, one in enumerate(entries, 1)
    ]


def _entry(one: Merged, guard: str, source: Source, *, declare: bool) -> Entry:
    sample = one.samples[0]
    taken = {*one.elements, *one.generics}

    def line(op: Op) -> int | None:
        places = sample.places.get(op.line)
        return places[0].line if places else None

    written = write(
        sample.entry,
        sample.specialisation.parameters,
        one.fillings,
        declare=declare,
        line=line,
        hint=hints_of(sample),
        taken=sorted(taken),
    )
    text = print_block(written.body)
    derived = tuple(_derived(one))
    generics = [f"{name}: ElementType" for name in one.elements]
    generics += [f"const {name}: i32" for name in one.generics]
    tensors = any("&Tensor" in parameter for parameter in written.parameters)
    function = rust.Function(
        name=function_name(one.variant.kernel),
        generics=tuple(generics),
        parameters=tuple(unused_marked(list(written.parameters), text)),
        returns=None,
        body=written.body,
        documentation=(
            *_told(one),
            *derivations(derived, after=True),
            *safety(one.variant, list(written.parameters), after=True),
        ),
        attributes=(f"#[cutile::entry({'unchecked_accesses = true' if tensors else ''})]",),
        qualifiers="pub unsafe ",
    )
    return Entry(
        kernel=one.variant.kernel,
        entry=function,
        idioms=written.idioms,
        source=source,
        variant=dataclasses.replace(
            one.variant, specialisations=tuple(s.specialisation for s in one.samples), guard=guard
        ),
        derived=derived,
    )


def _derived(one: Merged) -> Iterator[Derived]:
    """The generics that are not just a constant of their name."""
    for name, fit in one.generics.items():
        if name.removesuffix("_BITS") != constant_name(fit.python):
            yield Derived(generic=name, type="f32" if name.endswith("_BITS") else "i32", python=fit.python)


def _told(one: Merged) -> tuple[str, ...]:
    kernels = len(one.samples)
    return (f"From the Tile IR of `{one.variant.kernel}`, in {kernels} specialisation{'s' if kernels > 1 else ''}.",)
