"""READ FIRST. An operator's `kernel.rs`, translated: capture, ask the compiler, translate each kernel, print.

    specialisations ──oracle──▶ readings ─┐
    Python source ──source────────────────┴─kernel─▶ Rust tree ──printer──▶ kernel.rs

The port's other files are `port.py`'s: the entries cross to C (`crossing`, `launcher`), the reference's host code is
kept with its calls into cuTile replaced (`host`, `replaced`, `wrapper`), and three files get their line (`edits`).

What cannot be translated is named with its line, and the operator's other kernels come out all the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tileport_skill.capture.records import Specialisation
from tileport_skill.draft import rust
from tileport_skill.draft.body import Functions
from tileport_skill.draft.from_ir.route import TileIr
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
from tileport_skill.emit.program import Emitter
from tileport_skill.tilegym.operators import Checkout, Operator


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

    @property
    def chosen(self) -> dict[str, str]:
        """By a specialisation's id the entry that stands for it: what the guards choose between."""
        return {one.id: entry.entry.name for entry in self.entries for one in entry.variant.specialisations}


FromIr = Callable[[KernelReadings], list[Entry]]
"""Writes a kernel's entries from its Tile IR, or raises `Untranslatable`."""
Only = Literal["translation", "tile-ir"]


def draft_kernel(
    checkout: Checkout,
    operator: Operator,
    specialisations: Sequence[Specialisation],
    arch: str,
    *,
    declare: bool = False,
    route: Only | None = None,
    untrusted: Mapping[str, str] | None = None,
    emitter: Callable[[], Emitter] | None = None,
) -> KernelDraft:
    """Drafts every kernel among `specialisations`: translated, and from its Tile IR where translation refuses.

    With `declare`, a kernel may declare operations of Tile IR that cuTile Rust has no word for. A `route` is taken for
    all kernels and no other tried; `untrusted` has kernels not to translate, and why. What comes from
    Tile IR is made shorter with the `emitter`, which proves each step.
    """
    known = {one.id: one for one in specialisations if one.refused is None}
    distinct = {(one.kernel, repr(one.parameters)): one for one in known.values()}
    answer, asked = ask(checkout, operator, list(distinct.values()), arch)

    tile_ir = TileIr(checkout, list(known.values()), arch, declare=declare, emitter=emitter)

    def from_ir(kernel: KernelReadings) -> list[Entry]:
        if kernel.refused is not None:
            raise Untranslatable(kernel.refused)
        return tile_ir.entries(kernel.kernel, read_function(kernel.functions[0]))

    return translate(
        operator.name,
        answer,
        asked,
        declare=declare,
        from_ir=None if route == "translation" else from_ir,
        untrusted=dict.fromkeys((one.kernel for one in known.values()), "as asked for")
        if route == "tile-ir"
        else untrusted,
    )


def translate(
    name: str,
    answer: Answer,
    asked: Sequence[Specialisation],
    *,
    declare: bool,
    from_ir: FromIr | None = None,
    untrusted: Mapping[str, str] | None = None,
) -> KernelDraft:
    """The file from the oracle's answer; `asked` are the specialisations that it is about.

    `from_ir` is asked for kernels that are not translated, and for the `untrusted`.
    """
    functions: Functions = {}
    entries: list[Entry] = []
    refused: list[Refusal] = []
    for kernel in answer.kernels:
        why_not = (untrusted or {}).get(kernel.kernel)
        made, without = _drafted(kernel, asked, functions, from_ir, declare=declare, why_not=why_not)
        entries += made
        refused += without
    if not entries:
        return KernelDraft(text=None, translated=(), refused=tuple(refused))
    device = tuple(function for function, _ in functions.values())
    idioms = with_their_own(sorted({idiom for entry in entries for idiom in entry.idioms}), declare=declare)
    module = rust.Module(
        name=module_name(name),
        head=_head(name, entries, refused),
        idioms=idioms,
        functions=(*device, *(entry.entry for entry in entries)),
    )
    found = tuple(measured(entry, device, idioms) for entry in entries)
    return KernelDraft(text=print_module(module), translated=found, refused=tuple(refused), entries=tuple(entries))


def _drafted(
    kernel: KernelReadings,
    asked: Sequence[Specialisation],
    functions: Functions,
    from_ir: FromIr | None,
    *,
    declare: bool,
    why_not: str | None,
) -> tuple[list[Entry], list[Refusal]]:
    """Translated if all of it can be, else from its Tile IR, else what of it can be translated."""
    made: list[Entry] = []
    without: list[Refusal] = []
    reason, needed = why_not, dict(functions)
    if why_not is None or from_ir is None:
        try:
            made, without = _entries(kernel, asked, needed, declare=declare)
        except Untranslatable as error:
            without = [Refusal(kernel=kernel.kernel, reason=str(error), line=error.line)]
        reason = "; ".join(f"{one.reason} (line {one.line})" if one.line else one.reason for one in without)
    if from_ir is not None and (without or why_not is not None):
        try:
            return [dataclasses.replace(one, untranslated=reason) for one in from_ir(kernel)], []
        except Untranslatable as error:
            said = f"{reason}; and from its Tile IR: {error}" if without else str(error)
            without = [Refusal(kernel=kernel.kernel, reason=said, line=error.line)]
    functions.update(needed)
    return made, without


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
            entry = _renamed(entry, {one.entry.name for one in entries}, len(entries) + 1)
        entries.append(entry)
    return entries, refused


def _renamed(entry: Entry, taken: Collection[str], number: int) -> Entry:
    """Under the name of what tells the variant, if that is one word, else its number."""
    name = entry.entry.name
    strided = f"{name}_strided"
    chosen = strided if ".stride(-1) != 1" in entry.variant.guard and strided not in taken else f"{name}_{number}"
    return dataclasses.replace(entry, entry=dataclasses.replace(entry.entry, name=chosen))


def _head(name: str, entries: Sequence[Entry], refused: Sequence[Refusal]) -> tuple[str, ...]:
    """Which route each kernel took."""
    translated = list(dict.fromkeys(one.kernel for one in entries if one.untranslated is None))
    from_ir = {one.kernel: one.untranslated for one in entries if one.untranslated is not None}
    lines = []
    if translated:
        what = "translated from the cuTile Python source"
        names = "" if not from_ir else f" ({', '.join(translated)})"
        lines.append(f"// {name}: {what} by `tileport-skill draft`{names}.")
    else:
        lines.append(f"// {name}: made by `tileport-skill draft`.")
    for kernel, reason in from_ir.items():
        lines.append(f"// From the Tile IR that cuTile Python compiles it to: {kernel}. Not translated: {reason}.")
    for one in refused:
        place = f" (line {one.line})" if one.line else ""
        lines.append(f"// Not translated: {one.kernel}{place}: {one.reason}.")
    return (*lines, "")
