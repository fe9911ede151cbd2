"""How the launcher fills the entries that come from Tile IR, for compiling them without it: see `emit/bindings.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tileport_skill.capture import records
from tileport_skill.draft.kernel import Entry
from tileport_skill.draft.naming import constant_name
from tileport_skill.emit.bindings import Binding


def bindings_of(entries: Iterable[Entry]) -> tuple[Binding, ...]:
    """One for each entry that has a guard: others are bound by position and name."""
    return tuple(_binding(entry) for entry in entries if entry.guard is not None)


def _binding(entry: Entry) -> Binding:
    constants = {constant_name(p.name): p.name for p in entry.variant.parameters if isinstance(p, records.Constant)}
    names = [text.removeprefix("const ").split(":")[0] for text in entry.entry.generics if text.startswith("const")]
    generics = {name: entry.derived[name].python if name in entry.derived else constants[name] for name in names}
    given = dict(_parameters(entry))
    return Binding(
        kernel=entry.kernel,
        entry=entry.entry.name,
        generics=generics,
        parameters=given,
        only=tuple(one.id for one in entry.variant.specialisations),
    )


def _parameters(entry: Entry) -> Iterator[tuple[str, str]]:
    left = [(name, kind) for name, _, kind in (text.partition(": ") for text in entry.entry.parameters)]
    for parameter in entry.variant.parameters:
        match parameter:
            case records.Array():
                name, kind = left.pop(0)
                yield name, parameter.name
                if kind.startswith("*mut"):
                    axes = range(parameter.ndim)
                    for said in (*(f"size({axis})" for axis in axes), *(f"stride({axis})" for axis in axes)):
                        yield left.pop(0)[0], f"{parameter.name}.{said}"
            case records.Scalar():
                yield left.pop(0)[0], parameter.name
