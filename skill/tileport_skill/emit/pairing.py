"""Which launch of the port stands for which launch of the reference: the same test, in the same order.

Neither side's names count. A pair has the same grid, and where both kernels take the same parameters, the same
values for them; pointers agree if one renaming of storages makes them agree.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tileport_skill.capture.records import (
    Capture,
    Constant,
    Launch,
    PortLaunch,
    PortParameter,
    PortRecording,
    Specialisation,
    TensorArgument,
    Test,
    ValueArgument,
)
from tileport_skill.emit.launcher import BYTES, DTYPES
from tileport_skill.tilegym.operators import is_benchmark

PORT_WORD = re.compile(r"cutile[-_]rs")
Made = TypeVar("Made", Launch, PortLaunch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A launch of the reference with the port's, or with the reason why it has none."""

    launch: Launch
    port: PortLaunch | None
    reason: str = ""
    refused: bool = False
    """The port raised an error in a test that goes through the backward pass."""
    untried: bool = False
    """A configuration of the reference's tuner that the port's leaves out: slower perhaps, wrong never."""


@dataclass(frozen=True, slots=True)
class _Group:
    """One launch with the configurations its tuner tried before."""

    tunes: tuple[Launch | PortLaunch, ...]
    launch: Launch | PortLaunch


def paired(captured: Capture, recorded: PortRecording, outline: Callable[[str], object]) -> tuple[Pair, ...]:
    """Every launch of the reference, a test at a time.

    Benchmarks are left out, for they choose their backend themselves. A port that launches as often as the reference's
    forward pass alone has no backward pass. `outline` gives, for the hash of a bytecode, what tells a tuner's
    configurations apart; it is asked only where the two sides' tuners do not try equally many.
    """
    known = {s.id: s for s in captured.specialisations}
    ours, theirs = _by_test(captured.launches), _by_test(recorded.launches)
    ran = {neutral(test.id): test for test in recorded.tests}
    found: list[Pair] = []
    for test, launches in ours.items():
        if is_benchmark(test.partition("::")[0]):
            continue
        trouble = _trouble(ran.get(test), launches, theirs.get(test, []))
        if trouble is not None:
            backward = any(launch.backward for launch in launches)
            found += [Pair(launch=launch, port=None, reason=trouble, refused=backward) for launch in launches]
            continue
        groups = _groups(launches)
        if len(groups) > (made := len(_groups(theirs.get(test, [])))):
            alone = [group for group in groups if getattr(group.launch, "backward", False)]
            found += [_without_backward(launch) for group in alone for launch in (*group.tunes, group.launch)]
            groups = [group for group in groups if group not in alone]
        assert len(groups) == made
        for reference, port in zip(groups, _groups(theirs.get(test, [])), strict=True):
            found += _paired_group(reference, port, known, outline)
    return tuple(found)


def _without_backward(launch: Launch | PortLaunch) -> Pair:
    assert isinstance(launch, Launch)
    return Pair(launch=launch, port=None, reason="the port launches nothing in the backward pass", refused=True)


def _by_test(launches: Iterable[Made]) -> dict[str, list[Made]]:
    found: dict[str, list[Made]] = defaultdict(list)
    for launch in launches:
        found[neutral(launch.test)].append(launch)
    return found


def neutral(test: str) -> str:
    """A test's name whichever side it ran on."""
    return PORT_WORD.sub("cutile", test)


def _trouble(test: Test | None, ours: Sequence[Launch], theirs: Sequence[PortLaunch]) -> str | None:
    if test is None:
        return "the tests have no such case for the port"
    if test.status != "passed":
        return f"the port's test {test.status}: {test.reason}"
    made, wanted, forward = len(_groups(theirs)), len(_groups(ours)), len(_groups([x for x in ours if not x.backward]))
    return (
        None
        if made == wanted or made == forward > 0
        else f"the port makes {made} launches in this test, the reference {wanted}"
    )


def _groups(launches: Sequence[Launch] | Sequence[PortLaunch]) -> list[_Group]:
    found: list[_Group] = []
    tunes: list[Launch | PortLaunch] = []
    for launch in launches:
        if launch.purpose == "tune":
            tunes.append(launch)
        else:
            found.append(_Group(tuple(tunes), launch))
            tunes = []
    return found


def _paired_group(
    reference: _Group, port: _Group, known: dict[str, Specialisation], outline: Callable[[str], object]
) -> list[Pair]:
    """The tuner's configurations in their order, where both sides try as many; else each with one like it."""
    if len(reference.tunes) != len(port.tunes):
        return _by_configuration(reference, port, known, outline)
    return [
        _one(launch, other, known)
        for launch, other in zip((*reference.tunes, reference.launch), (*port.tunes, port.launch), strict=True)
    ]


def _one(launch: Launch | PortLaunch, other: Launch | PortLaunch, known: dict[str, Specialisation]) -> Pair:
    assert isinstance(launch, Launch)
    assert isinstance(other, PortLaunch)
    unlike = _unlike(launch, known[launch.specialisation], other)
    return Pair(launch=launch, port=None if unlike else other, reason=unlike)


def _by_configuration(
    reference: _Group, port: _Group, known: dict[str, Specialisation], outline: Callable[[str], object]
) -> list[Pair]:
    """Each side's launch is one of its configurations, and which one says nothing without a clock."""
    ours = list({(launch.specialisation, launch.grid): launch for launch in _launches(reference, Launch)}.values())
    theirs = list({(launch.ir, launch.grid): launch for launch in _launches(port, PortLaunch)}.values())
    found = []
    for launch in ours:
        ir = launch.port_ir
        alike = [] if ir is None else [other for other in theirs if outline(other.ir.sha256) == outline(ir.sha256)]
        pairs = [(_one(launch, other, known), other) for other in alike]
        if not pairs:
            said = "cuTile refuses it" if ir is None else f"{outline(ir.sha256)}"
            reason = f"the port's tuner leaves this configuration out: {said}"
            found.append(Pair(launch=launch, port=None, reason=reason, untried=True))
            continue
        pair, chosen = next(((pair, other) for pair, other in pairs if pair.port is not None), pairs[0])
        theirs.remove(chosen)
        found.append(pair)
    return found + [
        Pair(
            launch=ours[-1],
            port=None,
            reason=f"the port tries a configuration that the reference's tuner does not: {outline(other.ir.sha256)}",
        )
        for other in theirs
    ]


def _launches(group: _Group, kind: type[Made]) -> list[Made]:
    return [launch for launch in (*group.tunes, group.launch) if isinstance(launch, kind)]


def _unlike(launch: Launch, specialisation: Specialisation, port: PortLaunch) -> str:
    """What differs in grid or arguments, or nothing."""
    grid = (*launch.grid, 1, 1)[:3]
    if grid != port.grid:
        return f"the port launches a grid of {port.grid}, the reference of {grid}"
    ours = flattened(launch, specialisation)
    if [p.type for p in ours] != [p.type for p in port.parameters]:
        return f"the port's kernel takes other parameters: {_types(port.parameters)} against {_types(ours)}"
    storages: dict[str, str] = {}
    for number, (mine, theirs) in enumerate(zip(ours, port.parameters, strict=True)):
        if mine.type != "ptr":
            if mine.value != theirs.value:
                return f"parameter {number} is {theirs.value} in the port's launch, {mine.value} in the reference's"
            continue
        (storage, offset), (other, other_offset) = mine.value.split(" + "), theirs.value.split(" + ")
        if offset != other_offset or storages.setdefault(storage, other) != other:
            return f"parameter {number} points to {theirs.value} in the port's launch, {mine.value} in the reference's"
    return "" if len(set(storages.values())) == len(storages) else "two arrays of the reference are one in the port's"


def flattened(launch: Launch, specialisation: Specialisation) -> tuple[PortParameter, ...]:
    """The values the reference's kernel receives: arrays as pointer, sizes and strides, no constants."""
    found: list[PortParameter] = []
    for parameter, argument in zip(specialisation.parameters, launch.arguments, strict=True):
        if isinstance(parameter, Constant):
            continue
        if isinstance(argument, TensorArgument):
            offset = argument.offset * BYTES.get(DTYPES.get(argument.dtype, ""), 1)
            found.append(PortParameter(type="ptr", value=f"storage {argument.storage} + {offset}"))
            found += [PortParameter(type="i32", value=str(n)) for n in (*argument.shape, *argument.strides)]
        elif isinstance(argument, ValueArgument):
            dtype = {"float": "f32", "int": "i32", "bool": "i1"}.get(argument.type, argument.type)
            found.append(PortParameter(type=dtype, value=_as_kernel_sees_it(argument)))
        else:
            found.append(PortParameter(type="list", value="?"))
    return tuple(found)


def _as_kernel_sees_it(argument: ValueArgument) -> str:
    """A Python number as 32 bits hold it: 1e-5 is another number there, and `True` is 1."""
    if argument.type == "float":
        return repr(struct.unpack("<f", struct.pack("<f", float(argument.text)))[0])
    return str(int(argument.text == "True")) if argument.type == "bool" else argument.text


def _types(parameters: Sequence[PortParameter]) -> str:
    return "(" + ", ".join(p.type for p in parameters) + ")"
