"""READ FIRST. An operator's `kernel.rs`, translated: capture, ask the compiler, translate each kernel, print.

    specialisations ──oracle──▶ readings ─┐
    Python source ──source────────────────┴─kernel─▶ Rust tree ──printer──▶ kernel.rs

The port's other files are `port.py`'s: the entries cross to C (`crossing`, `launcher`), the reference's host code is
kept with its calls into cuTile replaced (`host`, `replaced`, `wrapper`), and three files get their line (`edits`).

What cannot be translated is named with its line, and the operator's other kernels come out all the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tileport_skill.capture.records import Specialisation
from tileport_skill.draft import rust
from tileport_skill.draft.body import Functions
from tileport_skill.draft.idioms import with_their_own
from tileport_skill.draft.kernel import Entry, read_by_pointer, translate_kernel
from tileport_skill.draft.measure import Measured, measured
from tileport_skill.draft.naming import module_name
from tileport_skill.draft.oracle.records import Answer, KernelReadings, Reading
from tileport_skill.draft.oracle.session import ask
from tileport_skill.draft.printer import print_module
from tileport_skill.draft.source import read_function
from tileport_skill.draft.values import Untranslatable
from tileport_skill.draft.variant import variants_of
from tileport_skill.tilegym.operators import Checkout, Operator

LICENCE = "// SPDX-License-Identifier: MIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A kernel that is not translated, and the construct that stands in the way."""

    kernel: str
    reason: str
    line: int | None
    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelDraft:
    """The file, and what is known of each kernel before it is proved."""

    text: str | None
    """None if not one kernel could be translated."""
    translated: tuple[Measured, ...]
    refused: tuple[Refusal, ...]
    entries: tuple[Entry, ...] = ()
    """The entries themselves, for the launcher that fits them."""


def draft_kernel(
    checkout: Checkout,
    operator: Operator,
    specialisations: Sequence[Specialisation],
    arch: str,
    *,
    declare: bool = False,
) -> KernelDraft:
    """Translates every kernel among `specialisations`.

    With `declare`, a kernel may declare operations of Tile IR that cuTile Rust has no word for.
    """
    distinct = {(one.kernel, repr(one.parameters)): one for one in specialisations if one.refused is None}
    answer, asked = ask(checkout, operator, list(distinct.values()), arch)
    return translate(operator.name, answer, asked, declare=declare)


def translate(name: str, answer: Answer, asked: Sequence[Specialisation], *, declare: bool) -> KernelDraft:
    """The file from the oracle's answer alone; `asked` are the specialisations that it is about."""
    functions: Functions = {}
    entries: list[Entry] = []
    refused: list[Refusal] = []
    for kernel in answer.kernels:
        try:
            made, without = _entries(kernel, asked, functions, declare=declare)
        except Untranslatable as error:
            made, without = [], [Refusal(kernel=kernel.kernel, reason=str(error), line=error.line)]
        entries += made
        refused += without
    if not entries:
        return KernelDraft(text=None, translated=(), refused=tuple(refused))
    device = tuple(function for function, _ in functions.values())
    idioms = with_their_own(sorted({idiom for entry in entries for idiom in entry.idioms}), declare=declare)
    module = rust.Module(
        name=module_name(name),
        head=_head(name, refused),
        idioms=idioms,
        functions=(*device, *(entry.entry for entry in entries)),
    )
    found = tuple(measured(entry, device, idioms) for entry in entries)
    return KernelDraft(text=print_module(module), translated=found, refused=tuple(refused), entries=tuple(entries))


def _entries(
    kernel: KernelReadings, asked: Sequence[Specialisation], functions: Functions, *, declare: bool
) -> tuple[list[Entry], list[Refusal]]:
    """An entry for each variant, and what is refused: other variants come out all the same."""
    if kernel.refused is not None:
        raise Untranslatable(kernel.refused)
    sources = {f"{one.file}:{one.line}": read_function(one) for one in kernel.functions}
    readings = {one.specialisation: one for one in kernel.readings}
    mine = [one for one in asked if one.kernel == kernel.kernel and readings[one.id].refused is None]
    if not mine:
        raise Untranslatable(f"cuTile's compiler takes none of its specialisations: {kernel.readings[0].refused}")
    pointers = read_by_pointer(next(iter(sources.values())), list(sources.values()))
    entries: list[Entry] = []
    refused = []
    for variant in variants_of(kernel.kernel, mine, pointers):
        own: list[Reading] = [readings[one.id] for one in variant.specialisations]
        try:
            entry = translate_kernel(variant, own, sources, functions, declare=declare)
        except Untranslatable as error:
            only = f", where {variant.guard}" if variant.guard else ""
            refused.append(Refusal(kernel=kernel.kernel, reason=f"{error}{only}", line=error.line))
            continue
        if entries:
            renamed = dataclasses.replace(entry.entry, name=f"{entry.entry.name}_{len(entries) + 1}")
            entry = dataclasses.replace(entry, entry=renamed)
        entries.append(entry)
    return entries, refused


def _head(name: str, refused: Sequence[Refusal]) -> tuple[str, ...]:
    lines = [LICENCE, "//", f"// {name}: translated from the cuTile Python source by `tileport-skill draft`."]
    for one in refused:
        place = f" (line {one.line})" if one.line else ""
        lines.append(f"// Not translated: {one.kernel}{place}: {one.reason}.")
    return (*lines, "")
