"""One variant of a kernel: the specialisations that one Rust entry can stand for, and what its generics are in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileport_skill.capture.records import Array, Constant, Parameter, Scalar, Specialisation
from tileport_skill.draft.facts import rust_element
from tileport_skill.draft.values import Untranslatable

FLOATS = frozenset({"float16", "bfloat16", "float32"})
LETTERS = ("E", "F", "G", "H", "K", "L")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    kernel: str
    specialisations: tuple[Specialisation, ...]
    elements: dict[str, str]
    """Each array's Rust element type: a type generic, or a type."""
    generics: dict[str, dict[int, str]]
    """Each type generic's element type, by the specialisation's number."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.specialisations[0].parameters


def variants_of(kernel: str, specialisations: Sequence[Specialisation]) -> list[Variant]:
    """Specialisations whose parameters are of the same kinds and ranks belong together."""
    groups: dict[object, list[Specialisation]] = {}
    for one in specialisations:
        groups.setdefault(tuple(map(_kind, one.parameters)), []).append(one)
    return [_variant(kernel, group) for group in groups.values()]


def _kind(parameter: Parameter) -> object:
    match parameter:
        case Array():
            return ("array", parameter.ndim, tuple(one == 1 for one in parameter.stride_constant)[-1:])
        case Scalar():
            return ("scalar", parameter.dtype)
        case Constant():
            return ("constant", parameter.type)
        case _:
            return ("other",)


def _variant(kernel: str, group: Sequence[Specialisation]) -> Variant:
    """Arrays that always share their element type share a generic; one that never changes is written out, unless all
    arrays of floats have the same one everywhere."""
    arrays = [p.name for p in group[0].parameters if isinstance(p, Array)]
    dtypes = {
        name: tuple(p.dtype for one in group for p in one.parameters if isinstance(p, Array) and p.name == name)
        for name in arrays
    }
    varying = list(dict.fromkeys(found for found in dtypes.values() if len(set(found)) > 1))
    letters = dict(zip(varying, LETTERS, strict=False))
    if len(varying) > len(LETTERS):
        raise Untranslatable(f"{kernel}: more than {len(LETTERS)} element types")
    elements = {name: letters.get(found) or rust_element(found[0]) for name, found in dtypes.items()}
    generics = {letter: dict(enumerate(found)) for found, letter in letters.items()}
    return Variant(kernel=kernel, specialisations=tuple(group), elements=elements, generics=generics)
