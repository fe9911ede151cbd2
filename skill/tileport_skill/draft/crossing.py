"""What crosses from Python to a drafted entry: one C function for each entry, and what each of its parameters is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tileport_skill.capture import records
from tileport_skill.draft.facts import rust_element
from tileport_skill.draft.kernel import Entry
from tileport_skill.draft.naming import KEYWORDS, constant_name, snake
from tileport_skill.draft.values import Untranslatable
from tileport_skill.emit.mapping import TENSOR_CORES

DESCRIPTOR_CODES = {"f32": 0, "f16": 1, "bf16": 2, "i32": 3, "i64": 4, "f8e5m2": 5, "f8e4m3fn": 7}
"""The codes of TileGym's `TensorDesc`; it has none for other element types."""
DESCRIPTOR_RANK = 5
RESERVED = KEYWORDS | {"device", "stream", "device_id", "raw_stream", "occupancy", "num_cta_in_cga", "kernel", "dtype"}

Scalar = Literal["i32", "f32", "bool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayArgument:
    """An array, as a descriptor."""

    python: str
    name: str
    element: str
    """A type generic of the entry, or a Rust type."""
    rank: int
    pointer: bool
    """Whether the entry takes it apart: pointer, sizes, strides."""
    dense: bool
    """Whether it must have a last stride of 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarArgument:
    """A number known when the kernel is launched."""

    python: str
    name: str
    type: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedArgument:
    """A number that the entry has as a const generic; of an `f32` its bits."""

    python: str
    """A parameter of the kernel, or an expression over its constants."""
    name: str
    type: Scalar
    generic: str


Argument = ArrayArgument | ScalarArgument | FixedArgument


@dataclass(frozen=True, slots=True, kw_only=True)
class CFunction:
    """One entry, callable from C."""

    kernel: str
    """The Python kernel."""
    python: tuple[str, ...]
    """All parameters of the Python kernel."""
    entry: str
    symbol: str
    arguments: tuple[Argument, ...]
    """What crosses, in the Python kernel's order: constants that the entry does not use stay behind."""
    types: tuple[str, ...]
    """Type generics that arrays say, `E`."""
    generics: tuple[str, ...]
    """All generics in the entry's order: `E`, `EMma`, `TILE`."""
    dtypes: tuple[tuple[str, ...], ...]
    """What `types` are in the captured specialisations, each combination once, in a fixed order."""
    guard: str = ""
    """The Python condition that tells its launches from the kernel's others; empty if it takes them all."""

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        return tuple(one for one in self.arguments if isinstance(one, ArrayArgument))


def c_function(operator: str, entry: Entry) -> CFunction:
    """Raises `Untranslatable` for what has no descriptor or no C type."""
    function, variant = entry.entry, entry.variant
    generics = tuple(text.removeprefix("const ").split(":")[0] for text in function.generics)
    types = tuple(one for one in generics if one in variant.generics)
    arguments = _distinct(tuple(_arguments(entry, frozenset(generics))))
    names = [one.name for one in arguments]
    if len(set(names)) != len(names):
        raise Untranslatable(f"parameters of {entry.kernel} that have one name in C: {', '.join(names)}")
    return CFunction(
        kernel=entry.kernel,
        python=tuple(parameter.name for parameter in variant.parameters),
        entry=function.name,
        symbol=_symbol(operator, function.name),
        arguments=arguments,
        types=types,
        generics=generics,
        dtypes=_dtypes(entry, types),
        guard=variant.guard,
    )


def _dtypes(entry: Entry, types: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """What has no descriptor never gets as far as the launcher: a call with it is refused, the others are not."""
    captured = zip(*(entry.variant.generics[one].values() for one in types), strict=True)
    found = {tuple(map(rust_element, one)) for one in captured}
    codes = list(DESCRIPTOR_CODES)
    known = [one for one in found if all(element in codes for element in one)]
    if found and not known:
        lacking = sorted({element for one in found for element in one} - set(codes))
        raise Untranslatable(f"arrays of {', '.join(lacking)}, for which TileGym's TensorDesc has no code")
    return tuple(sorted(known, key=lambda one: [codes.index(element) for element in one]))


def _distinct(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`n` and `N` are one name in lower case: then the capital is spelt out."""
    count = Counter(one.name for one in arguments)
    return tuple(
        replace(one, name=f"capital_{one.name}") if count[one.name] > 1 and one.python != one.python.lower() else one
        for one in arguments
    )


def _symbol(operator: str, entry: str) -> str:
    """All ports share one library: a function's name begins with its operator's."""
    name = snake(operator)
    return f"cutile_{entry}" if entry == name or entry.startswith(f"{name}_") else f"cutile_{name}_{entry}"


def _arguments(entry: Entry, generics: frozenset[str]) -> Iterator[Argument]:
    left = list(entry.entry.parameters)
    for parameter in entry.variant.parameters:
        name = _name(parameter.name)
        match parameter:
            case records.Constant(type="NoneType"):  # the wrapper sees to it that nothing else is passed
                continue
            case records.Array():
                pointer = re.search(r": \*mut ", left[0]) is not None
                del left[: 1 + 2 * parameter.ndim if pointer else 1]
                dense = pointer and entry.variant.is_dense(parameter.name)
                yield _array(parameter, name, entry.variant.elements[parameter.name], pointer, dense)
            case records.Scalar():
                del left[0]
                yield ScalarArgument(python=parameter.name, name=name, type=_scalar(parameter))
            case records.Constant():
                generic = constant_name(parameter.name) + ("_BITS" if parameter.type == "float" else "")
                if generic in generics and all(one.generic != generic for one in entry.derived):
                    type: Scalar = {"int": "i32", "bool": "bool", "float": "f32"}[parameter.type]  # type: ignore[assignment]
                    yield FixedArgument(python=parameter.name, name=name, type=type, generic=generic)
            case _:
                raise Untranslatable(f"the parameter {parameter.name}: {parameter.text[:60]}")
    taken = {_name(parameter.name) for parameter in entry.variant.parameters}
    for one in entry.derived:
        if one.generic in generics:
            name = _name(one.generic.removesuffix("_BITS"))
            name = f"{name}_as_{one.type}" if name in taken else name  # `float(N)` beside `N`
            yield FixedArgument(python=one.python, name=name, type=one.type, generic=one.generic)


def _array(parameter: records.Array, name: str, element: str, pointer: bool, dense: bool) -> ArrayArgument:
    known = (rust_element(parameter.dtype), element) if len(element) > 1 else (rust_element(parameter.dtype),)
    for one in known:
        if one not in DESCRIPTOR_CODES:
            raise Untranslatable(f"{parameter.name}, an array of {one}, for which TileGym's TensorDesc has no code")
    if parameter.ndim > DESCRIPTOR_RANK:
        raise Untranslatable(f"{parameter.name}, an array of rank {parameter.ndim}: TileGym's TensorDesc holds 5")
    return ArrayArgument(
        python=parameter.name, name=name, element=element, rank=parameter.ndim, pointer=pointer, dense=dense
    )


def _scalar(parameter: records.Scalar) -> Scalar:
    match rust_element(parameter.dtype):
        case "i32":
            return "i32"
        case "f32":
            return "f32"
        case "bool":
            return "bool"
        case other:
            raise Untranslatable(f"the scalar {parameter.name} of type {other}")


def _name(python: str) -> str:
    name = snake(python)
    return f"{name}_" if name in RESERVED or name.startswith("grid_") else name


def generic_from(generic: str, function: CFunction) -> FixedArgument | str:
    """Where a generic's value comes from: a fixed argument, or the name of a type generic."""
    for one in function.arguments:
        if isinstance(one, FixedArgument) and one.generic == generic:
            return one
    return generic.removesuffix(TENSOR_CORES)


def check_symbols(functions: Sequence[CFunction]) -> None:
    """Raises `Untranslatable` if two entries would be one C function."""
    symbols = [one.symbol for one in functions]
    if len(set(symbols)) != len(symbols):
        raise Untranslatable(f"kernels whose names differ in underscores or capitals alone: {', '.join(symbols)}")
