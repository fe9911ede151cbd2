"""The dispatch check: what a draft's wrapper asks its launcher for, against what the reference launches. No build.

The wrapper runs over the operator's tests under fake CUDA tensors; each of its calls is read as the launcher reads it
(`resolve`, the counterpart of `launcher.py`) and must agree with the capture launch by launch: entry, generics, grid,
arguments and hints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tileport_skill.capture.records import (
    Bytecode,
    CallRecording,
    Capture,
    CArray,
    CCall,
    Constant,
    Launch,
    PortLaunch,
    PortParameter,
    PortRecording,
    Specialisation,
    TensorArgument,
)
from tileport_skill.draft.crossing import (
    DESCRIPTOR_CODES,
    ArrayArgument,
    CFunction,
    FixedArgument,
    ScalarArgument,
    generic_from,
)
from tileport_skill.emit.derived import NotComputed, computed, float_bits, numbers
from tileport_skill.emit.launcher import DTYPES
from tileport_skill.emit.mapping import TENSOR_CORES
from tileport_skill.emit.pairing import Pair, neutral, paired
from tileport_skill.tilegym.operators import is_benchmark

LARGEST = 2**31 - 1
ELEMENTS = {code: name for name, code in DESCRIPTOR_CODES.items()}
LAUNCH_NUMBERS = 7
"""Grid, hints, device and stream, behind what the kernel takes."""


class Unserved(Exception):
    """The launcher would not launch; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What the launcher does with one call."""

    function: CFunction
    generics: tuple[str, ...]
    grid: tuple[int, int, int]
    parameters: tuple[PortParameter, ...]
    """As the kernel receives them: arrays as pointer, sizes, strides."""
    occupancy: int | None
    num_ctas: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One architecture's launches, counted."""

    arch: str
    launches: int
    """Launches of the reference, a tuner's configurations among them."""
    agree: int
    wrong: dict[str, int]
    """What the wrapper asks for is not what the reference launches: reasons, and how often."""
    missing: dict[str, int]
    """The test does not pass on the wrapper, so its launches were not seen: reasons, and how often."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def agreement(
    captured: Capture, recorded: CallRecording, functions: Sequence[CFunction], chosen: Mapping[str, str]
) -> Agreement:
    """Every launch of the reference beside the call that stands for it. Pure.

    `chosen` has the entries that were written for specialisations, by their ids: the wrapper's guards have to agree.
    """
    by_symbol = {function.symbol: function for function in functions}
    read = [_read(call, by_symbol) for call in recorded.calls]
    launches = tuple(_launch(number, call, read[number]) for number, call in enumerate(recorded.calls))
    seen = PortRecording(
        operators=recorded.operators,
        arch=recorded.arch,
        profile=recorded.profile,
        tests=recorded.tests,
        launches=launches,
        versions=recorded.versions,
        seconds=recorded.seconds,
    )
    known = {one.id: one for one in captured.specialisations}
    passed = {neutral(test.id) for test in recorded.tests if test.status == "passed"}
    refusals = {
        neutral(call.test): said for call, said in zip(recorded.calls, read, strict=True) if isinstance(said, str)
    }
    agree, wrong, missing = 0, Counter[str](), Counter[str]()
    for pair in paired(captured, seen, lambda key: key):
        test = neutral(pair.launch.test)
        reason = _disagreement(pair, known[pair.launch.specialisation], read, chosen)
        if pair.port is None and test in refusals:
            reason = refusals[test]
        if reason is None:
            agree += 1
        elif test in passed:
            wrong[f"{pair.launch.kernel}: {reason}"] += 1
        else:
            missing[f"{pair.launch.kernel}: {reason}"] += 1
    count = sum(not is_benchmark(launch.test.partition("::")[0]) for launch in captured.launches)
    return Agreement(arch=captured.arch, launches=count, agree=agree, wrong=dict(wrong), missing=dict(missing))


def exit_status(found: Sequence[Agreement]) -> int:
    """0 all agree, 10 a launch is wrong, 11 one was not seen, or none was."""
    if any(one.wrong for one in found):
        return 10
    return 0 if found and all(one.agree and not one.missing for one in found) else 11


def resolve(function: CFunction, call: CCall) -> Resolved:
    """What `function`'s body does with the call's arguments. Raises `Unserved` where it returns an error."""
    given = call.arguments[: len(function.arguments)]
    *numbers, _stream = (getattr(one, "value", 0) for one in call.arguments[len(function.arguments) :])
    if len(numbers) + 1 != LAUNCH_NUMBERS:
        raise Unserved(f"{call.symbol} is called with {len(call.arguments)} arguments")
    x, y, z, num_ctas, occupancy, device = map(int, numbers)
    types = _types(function, given)
    if min(x, y, z) < 1:
        raise Unserved(f"invalid arguments: a grid of {(x, y, z)}")
    if device < 0:
        raise Unserved(f"device {device}")
    return Resolved(
        function=function,
        generics=tuple(_generic(one, function, given, types) for one in function.generics),
        grid=(x, y, z),
        parameters=tuple(_parameters(function, given)),
        occupancy=occupancy if occupancy > 0 else None,
        num_ctas=num_ctas if num_ctas > 0 else None,
    )


def _types(function: CFunction, given: Sequence[object]) -> dict[str, str]:
    """Each type generic's element type, every array checked as the launcher does."""
    types: dict[str, str] = {}
    for argument, value in zip(function.arguments, given, strict=False):
        if not isinstance(argument, ArrayArgument):
            continue
        if not isinstance(value, CArray):
            raise Unserved(f"{argument.name} is no array")
        _check_fits(argument, value)
        element = ELEMENTS.get(value.dtype, f"the type of code {value.dtype}")
        wanted = types.setdefault(argument.element, element) if argument.element in function.types else argument.element
        if element != wanted:
            raise Unserved(f"unsupported dtype: {argument.name} holds {element}, not {wanted}")
    if function.types and tuple(types[one] for one in function.types) not in function.dtypes:
        raise Unserved(f"unsupported dtype: {', '.join(types.values())}")
    return types


def _check_fits(argument: ArrayArgument, value: CArray) -> None:
    if len(value.shape) != argument.rank:
        raise Unserved(f"invalid arguments: {argument.name} has rank {len(value.shape)}, not {argument.rank}")
    if not all(1 <= size <= LARGEST for size in value.shape):
        raise Unserved(f"invalid arguments: {argument.name} has sizes {value.shape}")
    if not all(0 <= stride <= LARGEST for stride in value.strides):
        raise Unserved(f"invalid arguments: {argument.name} has strides {value.strides}")
    if argument.dense and argument.rank and value.strides[-1] != 1:
        raise Unserved(f"invalid arguments: the last stride of {argument.name} is {value.strides[-1]}")


def _generic(generic: str, function: CFunction, given: Sequence[object], types: Mapping[str, str]) -> str:
    source = generic_from(generic, function)
    if isinstance(source, str):
        return types[source] if source == generic else _on_tensor_cores(types[source])
    value = getattr(given[function.arguments.index(source)], "value", 0)
    return _spelled(source.type, value)


def _on_tensor_cores(element: str) -> str:
    return "tf32" if element == "f32" else element


def _spelled(type: str, value: float) -> str:
    if type == "f32":
        return str(float_bits(float(value)))
    return str(bool(value)).lower() if type == "bool" else str(value)


def _parameters(function: CFunction, given: Sequence[object]) -> Iterator[PortParameter]:
    for argument, value in zip(function.arguments, given, strict=False):
        match argument:
            case ArrayArgument() if isinstance(value, CArray):
                yield PortParameter(type="ptr", value=value.pointer)
                yield from (PortParameter(type="i32", value=str(n)) for n in (*value.shape, *value.strides))
            case ScalarArgument(type="bool"):
                yield PortParameter(type="i1", value=str(int(bool(getattr(value, "value", 0)))))
            case ScalarArgument():
                yield PortParameter(type=argument.type, value=repr(getattr(value, "value", None)))


def _read(call: CCall, functions: Mapping[str, CFunction]) -> Resolved | str:
    if call.symbol not in functions:
        return f"{call.symbol} is no function of the launcher"
    try:
        return resolve(functions[call.symbol], call)
    except Unserved as error:
        return f"the launcher refuses the call: {error}"


def _launch(number: int, call: CCall, read: Resolved | str) -> PortLaunch:
    """For pairing; in the bytecode's place stands the number of the call."""
    resolved = isinstance(read, Resolved)
    return PortLaunch(
        test=call.test,
        purpose=call.purpose,
        grid=read.grid if resolved else (),  # type: ignore[union-attr]
        parameters=read.parameters if resolved else (),  # type: ignore[union-attr]
        ir=Bytecode(sha256=str(number), symbol=call.symbol),
    )


def _disagreement(
    pair: Pair, specialisation: Specialisation, read: Sequence[Resolved | str], chosen: Mapping[str, str]
) -> str | None:
    if pair.port is None:
        return pair.reason
    found = read[int(pair.port.ir.sha256)]
    if isinstance(found, str):
        return found
    if found.function.kernel != pair.launch.kernel:
        return f"the port launches {found.function.entry}, which stands for {found.function.kernel}"
    wanted = chosen.get(specialisation.id, found.function.entry)
    if found.function.entry != wanted:
        return f"the port launches {found.function.entry}, but {wanted} stands for these constants and types"
    expected = tuple(_expected(one, found.function, pair.launch, specialisation) for one in found.function.generics)
    if found.generics != expected:
        return f"the port's generics are {', '.join(found.generics)}, of the reference's launch {', '.join(expected)}"
    hints = specialisation.hints
    if (found.occupancy, found.num_ctas) != (hints.occupancy, hints.num_ctas):
        given = f"occupancy={found.occupancy}, num_ctas={found.num_ctas}"
        return f"the port's hints are {given}; the reference's occupancy={hints.occupancy}, num_ctas={hints.num_ctas}"
    return None


def _expected(generic: str, function: CFunction, launch: Launch, specialisation: Specialisation) -> str:
    """A generic's value as the captured launch itself says it: from its constants, and its arrays' element types."""
    source = generic_from(generic, function)
    if isinstance(source, FixedArgument):
        constants = numbers(p for p in specialisation.parameters if isinstance(p, Constant))
        try:
            value = computed(source.python, constants)
        except NotComputed as error:
            return f"unknown ({error})"
        return _spelled(source.type, int(value) if source.type == "i32" else value)
    array = next(one for one in function.arrays if one.element == source)
    place = [parameter.name for parameter in specialisation.parameters].index(array.python)
    argument = launch.arguments[place]
    assert isinstance(argument, TensorArgument)
    element = DTYPES.get(argument.dtype, argument.dtype)
    return _on_tensor_cores(element) if generic.endswith(TENSOR_CORES) and generic != source else element
