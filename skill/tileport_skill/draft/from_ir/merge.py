"""Samples of one structure become one entry: each slot that differs between them is filled with a generic.

Where a slot cannot be fitted, the samples part: those that agree on it stay together.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tileport_skill.capture.records import Array, Constant, Specialisation
from tileport_skill.draft.facts import rust_element
from tileport_skill.draft.from_ir.fitting import Fit, fit_floats, fit_integers
from tileport_skill.draft.from_ir.parameters import given
from tileport_skill.draft.from_ir.samples import Sample
from tileport_skill.draft.from_ir.slots import Content, Filling, Generic, Key, slots_of, structure
from tileport_skill.draft.naming import constant_name
from tileport_skill.draft.values import Untranslatable
from tileport_skill.draft.variant import Variant, variants_of
from tileport_skill.emit.derived import float_bits
from tileport_skill.emit.mapping import TENSOR_CORES


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Samples that one entry stands for."""

    samples: tuple[Sample, ...]
    variant: Variant
    fillings: Mapping[Key, Filling]
    generics: Mapping[str, Fit]
    """Const generics and what each is in terms of the kernel's constants; those that end in `_BITS` are an `f32`'s."""
    elements: tuple[str, ...]
    """Type generics, those for tensor cores last."""


def merged(samples: Sequence[Sample]) -> list[Merged]:
    """In the order of the samples. What was never captured only helps to fit: alone it makes no entry."""
    groups: dict[object, list[Sample]] = {}
    for one in samples:
        parameters = one.specialisation.parameters
        views = frozenset(view for array in given(one.entry, parameters) for view in array.views)
        key = (tuple(map(_kind, parameters)), structure(one.entry, views))
        groups.setdefault(key, []).append(one)
    return [found for group in groups.values() if any(one.captured for one in group) for found in _parted(group)]


def _kind(parameter: object) -> object:
    match parameter:
        case Array():
            return ("array", parameter.ndim)
        case Constant():
            return ("constant", parameter.type)
    return ("other",)


def _parted(group: Sequence[Sample]) -> Iterator[Merged]:
    """One entry, or one for each of the parts that `group` has to fall into."""
    found = _fitted(group)
    if isinstance(found, Merged):
        yield found
        return
    parts: dict[object, list[Sample]] = {}
    for one, content in zip(group, found, strict=True):
        parts.setdefault(content, []).append(one)
    for part in parts.values():
        if any(one.captured for one in part):
            yield from _parted(part)


def _fitted(group: Sequence[Sample]) -> Merged | tuple[object, ...]:
    """The entry, or what tells apart the samples that cannot share one."""
    variant = _variant([one.specialisation for one in group])
    contents = [slots_of(one.entry) for one in group]
    integers, floats = _columns([one.specialisation for one in group])
    fillings: dict[Key, Filling] = {}
    generics: dict[str, Fit] = {}
    tensor_cores: dict[str, None] = {}
    for key in contents[0]:
        column = tuple(content[key] for content in contents)
        filled: Filling | None
        if key.kind == "element":
            filled = _element(column, variant)
            if isinstance(filled, Generic) and filled.name.endswith(TENSOR_CORES):
                tensor_cores[filled.name] = None
        elif len(set(column)) == 1:
            continue
        elif key.kind == "float" and any(one[Key("element", key.value)] != "f32" for one in contents):
            return column  # from bits through `f32` is not the constant that `tileiras` folds
        else:
            filled = _number(key, column, integers, floats, generics)
        if filled is None:
            return column
        fillings[key] = filled
    return Merged(
        samples=tuple(group),
        variant=variant,
        fillings=fillings,
        generics=generics,
        elements=(*variant.generics, *tensor_cores),
    )


def _variant(specialisations: Sequence[Specialisation]) -> Variant:
    """Arrays with and without a last stride of 1 belong together here."""
    first = specialisations[0]
    alike = [_with_strides_of(first, one) for one in specialisations]
    (variant,) = variants_of(first.kernel, alike, ())
    return variant


def _with_strides_of(first: Specialisation, one: Specialisation) -> Specialisation:
    parameters = tuple(
        dataclasses.replace(mine, stride_constant=other.stride_constant)
        if isinstance(mine, Array) and isinstance(other, Array)
        else mine
        for mine, other in zip(one.parameters, first.parameters, strict=True)
    )
    return dataclasses.replace(one, parameters=parameters)


def _columns(
    specialisations: Sequence[Specialisation],
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[float, ...]]]:
    """The constants' values, whole ones and floats."""
    integers: dict[str, tuple[int, ...]] = {}
    floats: dict[str, tuple[float, ...]] = {}
    for place, parameter in enumerate(specialisations[0].parameters):
        if not isinstance(parameter, Constant) or parameter.type not in ("int", "float"):
            continue
        same = [one.parameters[place] for one in specialisations]
        values = tuple(ast.literal_eval(one.text) for one in same if isinstance(one, Constant))
        if parameter.type == "int":
            integers[parameter.name] = values
        else:
            floats[parameter.name] = values
    return integers, floats


def _element(column: tuple[Content, ...], variant: Variant) -> Filling | None:
    for letter, known in variant.generics.items():
        mine = [rust_element(known[number]) for number in range(len(column))]
        if list(column) == mine and len(set(mine)) > 1:
            return Generic(letter)
        if list(column) == ["tf32" if one == "f32" else one for one in mine] and len(set(mine)) > 1:
            return Generic(f"{letter}{TENSOR_CORES}")
    return column[0] if len(set(column)) == 1 else None


def _number(
    key: Key,
    column: tuple[Content, ...],
    integers: Mapping[str, tuple[int, ...]],
    floats: Mapping[str, tuple[float, ...]],
    generics: dict[str, Fit],
) -> Filling | None:
    if key.kind == "float":
        numbers = tuple(float(one) for one in column)
        fit = fit_floats(numbers, floats, integers)
        if fit is None or any(float_bits(one) == 0 for one in numbers):
            return None
        name = f"{constant_name(fit.name)}_BITS"
    else:
        whole = tuple(int(one) for one in column)
        fit = fit_integers(whole, integers)
        if fit is None or not all(0 <= one < 1 << 31 for one in whole):
            return None
        name = constant_name(fit.name)
    generics.setdefault(name, fit)
    if generics[name] != fit:
        raise Untranslatable(f"two constants that would both be called {name}")
    return Generic(name)
