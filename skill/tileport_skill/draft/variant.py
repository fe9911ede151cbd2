"""One variant of a kernel: the specialisations that one Rust entry can stand for, and what its generics are in each."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tileport_skill.capture.records import Array, Constant, Parameter, Scalar, Specialisation
from tileport_skill.draft.facts import rust_element
from tileport_skill.draft.values import Untranslatable
from tileport_skill.emit.derived import computed, numbers

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
    guard: str
    """The Python condition over the kernel's parameters that tells the variant; empty if there is nothing to tell."""
    known: Mapping[str, bool] = field(default_factory=dict)
    """Conditions over the kernel's constants that the guard decides."""

    @property
    def fixed(self) -> dict[str, int]:
        """Constants that have one value wherever the guard lets a call in."""
        found = {}
        for condition, holds in self.known.items():
            match ast.parse(condition, mode="eval").body:
                case ast.Compare(
                    left=ast.Name(id=name),
                    ops=[ast.Eq() | ast.NotEq() as asked],
                    comparators=[ast.Constant(value=int(n))],
                ) if isinstance(asked, ast.Eq) == holds:
                    found[name] = n
        return found

    def is_dense(self, name: str) -> bool:
        """Whether the array `name` has a last stride of 1 in every specialisation."""
        arrays = (p for one in self.specialisations for p in one.parameters if isinstance(p, Array) and p.name == name)
        return all(map(is_dense, arrays))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.specialisations[0].parameters


def variants_of(kernel: str, specialisations: Sequence[Specialisation], pointers: Collection[str]) -> list[Variant]:
    """Specialisations whose parameters are of the same kinds and ranks belong together.

    `pointers` are the arrays that the kernel reads by pointer: for these it matters whether the last stride is 1.
    """
    groups: dict[tuple[Kind, ...], list[Specialisation]] = {}
    for one in specialisations:
        groups.setdefault(tuple(_kind(parameter, pointers) for parameter in one.parameters), []).append(one)
    return [_variant(kernel, group, _guard(kinds, list(groups), group)) for kinds, group in groups.items()]


def halves(variant: Variant, condition: str) -> list[Variant]:
    """The specialisations for whose constants `condition` is true, and the others; one alone if all are alike."""
    sides: dict[bool, list[Specialisation]] = {}
    for one in variant.specialisations:
        constants = numbers(parameter for parameter in one.parameters if isinstance(parameter, Constant))
        sides.setdefault(bool(computed(condition, constants)), []).append(one)
    made = []
    for holds, group in sides.items():
        guard = " and ".join(filter(None, [variant.guard, f"({condition})" if holds else f"(not ({condition}))"]))
        half = _variant(variant.kernel, group, guard)
        made.append(replace(half, known={**variant.known, condition: holds}))
    return made


Kind = tuple[object, ...]
"""What a parameter is, a number (of axes, if it is an array), and whether an array's last axis is dense."""
PYTHON_TYPES = {"float": "float", "int": "int", "bool": "bool"}


def _kind(parameter: Parameter, pointers: Collection[str]) -> Kind:
    match parameter:
        case Array():
            return ("array", parameter.ndim, parameter.name not in pointers or is_dense(parameter))
        case Scalar():
            return ("scalar", "float" if "float" in parameter.dtype else "bool" if "bool" in parameter.dtype else "int")
        case Constant():
            return ("constant", parameter.type)
        case _:
            return ("other",)


def is_dense(array: Array) -> bool:
    """Whether its last stride is always 1."""
    return array.stride_constant[-1:] in ((1,), ())


def _guard(kinds: tuple[Kind, ...], all_kinds: Sequence[tuple[Kind, ...]], group: Sequence[Specialisation]) -> str:
    """A parameter that is `None` is always told: another launch may pass something, which must not be dropped."""
    conditions: list[str] = []
    for index, parameter in enumerate(group[0].parameters):
        others = {other[index] for other in all_kinds}
        if len(others) > 1 or kinds[index] == ("constant", "NoneType"):
            conditions += _conditions(parameter.name, kinds[index], others - {kinds[index]})
    return " and ".join(conditions)


def _conditions(name: str, kind: Kind, others: Collection[Kind]) -> Iterator[str]:
    """What tells `kind` from `others`, in an order in which each may rely on those before."""
    if kind == ("constant", "NoneType"):
        yield f"{name} is None"
    elif kind[0] == "array":
        if any(other[0] != "array" for other in others):
            yield f"isinstance({name}, torch.Tensor)"
        if any(other[0] == "array" and other[1] != kind[1] for other in others):
            yield f"{name}.ndim == {kind[1]}"
        if any(other[0] == "array" and other[2] != kind[2] for other in others):
            yield f"{name}.stride(-1) {'==' if kind[2] else '!='} 1"
    elif others == {("constant", "NoneType")}:
        yield f"{name} is not None"
    elif kind[-1] in PYTHON_TYPES:
        yield f"isinstance({name}, {PYTHON_TYPES[str(kind[-1])]})"


def _variant(kernel: str, group: Sequence[Specialisation], guard: str) -> Variant:
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
    return Variant(kernel=kernel, specialisations=tuple(group), elements=elements, generics=generics, guard=guard)
