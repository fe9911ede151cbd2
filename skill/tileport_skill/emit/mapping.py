"""From a captured launch to the request that compiles the port's entry for it.

READ FIRST in this folder. Two halves. *Binding* finds which value each parameter of the Rust entry receives: by
position, since an entry that could give the reference's cubin takes the reference's parameters in their order
(every array as a pointer, its sizes and its strides). *Facts* are what the generated launcher derives from those
values at run time (`launcher.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tileport_skill.capture.records import Array, Constant, Launch, Specialisation, TensorArgument, ValueArgument
from tileport_skill.emit.derived import NotComputed, computed, numbers, spelled
from tileport_skill.emit.entries import (
    ConstGeneric,
    Entry,
    EntryParameter,
    KernelModule,
    PointerParameter,
    ScalarParameter,
    TensorParameter,
)
from tileport_skill.emit.launcher import DTYPES, TensorFacts, address_of, divisor_of, tensor_facts

TENSOR_CORES = "Mma"
"""Ends the name of a type generic that stands for what another becomes on tensor cores."""


class Unmapped(Exception):
    """The entry cannot be bound to this launch; the text says what does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything that decides the compiled kernel. Its fields are those of the emitter's JSON request."""

    entry: str
    arch: str
    symbol: str
    generics: tuple[str, ...]
    tensors: tuple[TensorFacts, ...]
    scalars: tuple[tuple[str, int], ...]
    occupancy: int | None
    num_cta_in_cga: int | None
    module: str | None = None
    grid: tuple[int, int, int] | None = None
    max_divisibility: int | None = None


def choose_entry(
    entries: Sequence[tuple[KernelModule, Entry]], launch: Launch, specialisation: Specialisation
) -> tuple[KernelModule, Entry]:
    """The entry that stands for the launched kernel: the only one that binds, or of several the one of its name.

    One whose name ends in `strided` comes first where an array's last stride is not always 1, as drafts name it. Names
    are compared without underscores and without the word `kernel`. Raises `Unmapped` if it is none or several.
    """
    binding, reasons = [], []
    for module, entry in entries:
        try:
            request_for(entry, launch, specialisation, "sm_90", "entry")
            binding.append((module, entry))
        except Unmapped as unmapped:
            reasons.append(str(unmapped))
    if len(binding) == 1:
        return binding[0]
    strided = any(isinstance(p, Array) and p.ndim and p.stride_constant[-1] != 1 for p in specialisation.parameters)
    for ending in ("strided", "") if strided else ("",):
        named = [(m, e) for m, e in binding if _bare(e.name) == _bare(specialisation.kernel) + ending]
        if len(named) == 1:
            return named[0]
    if binding:
        names = ", ".join(entry.name for _, entry in binding)
        raise Unmapped(f"{specialisation.kernel} could be any of {names}. Name the entry that stands for it after it.")
    raise Unmapped(f"no entry takes the parameters of {specialisation.kernel}: {'; '.join(reasons)}")


def _bare(kernel: str) -> str:
    return kernel.casefold().replace("kernel", "").replace("_", "")


def request_for(entry: Entry, launch: Launch, specialisation: Specialisation, arch: str, symbol: str) -> Request:
    """The request for `launch`. Raises `Unmapped` where binding by position is not possible."""
    names = [parameter.name for parameter in specialisation.parameters]
    constants = {p.name: p for p in specialisation.parameters if isinstance(p, Constant)}
    runtime = [
        (name, argument) for name, argument in zip(names, launch.arguments, strict=True) if name not in constants
    ]
    types: dict[str, str] = {}
    tensors: list[TensorFacts] = []
    scalars: list[tuple[str, int]] = []
    _bind(entry, runtime, types, tensors, scalars)
    return Request(
        entry=entry.name,
        arch=arch,
        symbol=symbol,
        generics=_generics(entry, types, constants),
        tensors=tuple(tensors),
        scalars=tuple(scalars),
        occupancy=specialisation.hints.occupancy,
        num_cta_in_cga=specialisation.hints.num_ctas,
    )


def _bind(
    entry: Entry,
    runtime: Sequence[tuple[str, object]],
    types: dict[str, str],
    tensors: list[TensorFacts],
    scalars: list[tuple[str, int]],
) -> None:
    """Walks both parameter lists together; fills `types`, `tensors` and `scalars`."""
    left = list(entry.parameters)
    for name, argument in runtime:
        if not left:
            raise Unmapped(f"entry {entry.name} has no parameter left for {name!r}")
        first = left.pop(0)
        if isinstance(argument, TensorArgument):
            element = DTYPES.get(argument.dtype, argument.dtype)
            if isinstance(first, TensorParameter):
                _agree(types, first.element, element, entry)
                tensors.append(tensor_facts(first.name, argument))
                continue
            if not isinstance(first, PointerParameter):
                raise Unmapped(f"entry {entry.name}: {first.name!r} is no pointer, but {name!r} is an array")
            _agree(types, first.element, element, entry)
            scalars.append((first.name, divisor_of(address_of(argument, element))))
            for value in (*argument.shape, *argument.strides):
                scalars += _integer(entry, left, f"a size or stride of {name!r}", value)
        elif isinstance(argument, ValueArgument):
            left.insert(0, first)
            scalars += _scalar(entry, left, name, argument)
        else:
            raise Unmapped(f"parameter {name!r} is a list, which no entry takes")
    if left:
        raise Unmapped(f"entry {entry.name} takes {left[0].name!r}, which the reference does not")


def _integer(entry: Entry, left: list[EntryParameter], what: str, value: int) -> list[tuple[str, int]]:
    if not left or not isinstance(left[0], ScalarParameter):
        found = getattr(left[0], "name", None) if left else None
        raise Unmapped(f"entry {entry.name}: expected an integer for {what}, found {found!r}")
    parameter = left.pop(0)
    assert isinstance(parameter, ScalarParameter)
    return [(parameter.name, divisor_of(value))]


def _scalar(entry: Entry, left: list[EntryParameter], name: str, argument: ValueArgument) -> list[tuple[str, int]]:
    if argument.type in ("int", "bool"):
        return _integer(
            entry,
            left,
            repr(name),
            int(argument.text == "True") if argument.type == "bool" else int(argument.text),
        )
    if not isinstance(left[0], ScalarParameter):
        raise Unmapped(f"entry {entry.name}: {name!r} is a scalar, {left[0]!r} is not")
    left.pop(0)
    return []


def _agree(types: dict[str, str], generic: str, element: str, entry: Entry) -> None:
    """Binds a type generic, or checks a type written out."""
    known = {g.name for g in entry.generics if not isinstance(g, ConstGeneric)}
    wanted = types.setdefault(generic, element) if generic in known else generic
    if wanted != element:
        raise Unmapped(f"entry {entry.name}: {generic} is {wanted}, but an argument of it is {element}")


def _generics(entry: Entry, types: dict[str, str], constants: dict[str, Constant]) -> tuple[str, ...]:
    """Type generics as bound; const generics by the reference's constant of the same name.

    Rust takes no const generic of type `f32`: a constant `eps` goes as `EPS_BITS`, its bits as an `i32`. A type that
    no argument has, `EMma`, is what `E` becomes on tensor cores: `tf32` for `f32`, else the same.
    """
    by_key = {_key(name): constant for name, constant in constants.items()}
    by_key |= {_key(f"{name}_bits"): constant for name, constant in constants.items() if constant.type == "float"}
    found = []
    for generic in entry.generics:
        if not isinstance(generic, ConstGeneric):
            found.append(_type(generic.name, types, entry))
            continue
        constant = by_key.get(_key(generic.name))
        if generic.name in entry.derived:
            found.append(_derived(entry, generic, constants))
            continue
        if constant is None:
            names = ", ".join(constants) or "none"
            raise Unmapped(
                f"entry {entry.name}: no constant of the reference is named {generic.name}; it has {names}. "
                "Name const generics after the constants they stand for."
            )
        found.append(_spelled(constant))
    return tuple(found)


def _derived(entry: Entry, generic: ConstGeneric, constants: dict[str, Constant]) -> str:
    try:
        value = computed(entry.derived[generic.name], numbers(constants.values()))
    except NotComputed as error:
        raise Unmapped(f"entry {entry.name}: {generic.name} is {error}") from error
    return spelled(float(value) if generic.name.endswith("_BITS") else value)


def _type(generic: str, types: dict[str, str], entry: Entry) -> str:
    if generic in types:
        return types[generic]
    base = generic.removesuffix(TENSOR_CORES)
    if base == generic or base not in types:
        raise Unmapped(f"entry {entry.name}: no argument says what {generic} is")
    return "tf32" if types[base] == "f32" else types[base]


def _spelled(constant: Constant) -> str:
    known = numbers([constant])
    return spelled(known[constant.name]) if known else constant.text


def _key(name: str) -> str:
    return name.replace("_", "").casefold()
