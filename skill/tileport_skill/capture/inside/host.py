"""What an operator's host code does on the device around its launches: allocations, copies, casts, other kernels.

A port's host must do the same. Only what the operator itself asks for is kept, told from the tests' own work by the
stack; mere views are not, since the launch's own arguments show them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from tileport_skill.capture import records
from tileport_skill.capture.inside.entries import entry_of

LONGEST = 120
"""Characters of one argument's text: a list of a thousand offsets says no more than its beginning."""
UNSAID = ("device", "layout", "pin_memory", "non_blocking")
"""Arguments that are the same wherever there is one device."""
UNCOUNTED = ("prim", "profiler")
"""Namespaces of what does no work: asking a tensor's device."""


@dataclasses.dataclass(slots=True)
class _Step:
    """One operation or launch of a call, with the storages it reads from or hands on."""

    operation: records.HostOperation | None
    launch: int
    inputs: frozenset[int]
    outputs: frozenset[int]
    parameters: dict[int, str]
    """Of a launch: the storage of each array argument, and the parameter's name."""


class HostRecorder:
    """Follows one operator call after the other; a call is what one outermost frame of the package does."""

    def __init__(self, package: str, tests: str) -> None:
        self._package, self._tests = package, tests
        self._prefix = package.rpartition("/")[0] + "/"
        self._frame: Any = None  # kept while the call lasts, so that no other frame is taken for it
        self._steps: list[_Step] = []
        self._alive: list[Any] = []
        self._calls = 0
        self._entry: int | None = None
        self.paused = False
        self.operations: dict[records.HostOperation, int] = {}
        self.entries: dict[records.Entry, int] = {}
        self.around: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        """Per launch, by its number: operations before it and, if it is its call's last, those after."""

    def start(self) -> None:
        """A new test begins."""
        self.finish()
        self._calls = 0

    def launched(self, launch: int, tensors: Sequence[tuple[str, torch.Tensor]]) -> tuple[int, int | None]:
        """Takes note of a launch; answers with the number of its call in the test, and of the call's entry."""
        frames = self._own_frames()
        if frames:
            self._enter(frames)
        parameters = {self._storage(tensor): name for name, tensor in tensors}
        known = frozenset(parameters)
        self._steps.append(_Step(None, launch, known, known, parameters))
        return self._calls, self._entry

    def saw(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Takes note of an operation that torch has just done, if an operator's host code asked for it."""
        if self.paused or func.is_view or func.namespace in UNCOUNTED:
            return
        inputs = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
        outputs = [leaf for leaf in tree_flatten(out)[0] if isinstance(leaf, torch.Tensor)]
        if not any(tensor.device.type == "cuda" for tensor in (*inputs, *outputs)):
            return
        frames = self._own_frames()
        if not frames:
            return
        self._enter(frames)
        operation = records.HostOperation(
            operation=str(func).removesuffix(".default"),
            where=f"{frames[0].f_code.co_filename.removeprefix(self._prefix)}:{frames[0].f_lineno}",
            inputs=tuple(map(described, inputs)),
            outputs=tuple(map(described, outputs)),
            options=tuple(_options(func, args, kwargs)),
        )
        taken, given = (frozenset(map(self._storage, tensors)) for tensors in (inputs, outputs))
        self._steps.append(_Step(operation, -1, taken, given, {}))

    def finish(self) -> None:
        """The call has ended: says of each operation which launch of the call it feeds or follows."""
        steps, self._steps, self._frame, self._alive = self._steps, [], None, []
        launches = [position for position, step in enumerate(steps) if step.operation is None]
        if not launches:
            return
        numbers = [None if s.operation is None else self._number(s, i, steps) for i, s in enumerate(steps)]
        after = tuple(number for number in numbers[launches[-1] + 1 :] if number is not None)
        begin = 0
        for position in launches:
            before = tuple(number for number in numbers[begin:position] if number is not None)
            self.around[steps[position].launch] = (before, after if position == launches[-1] else ())
            begin = position + 1

    def _number(self, step: _Step, position: int, steps: list[_Step]) -> int:
        assert step.operation is not None
        operation = dataclasses.replace(
            step.operation,
            feeds=_names(step.outputs, steps[position + 1 :]),
            takes=_names(step.inputs, steps[:position]),
        )
        return self.operations.setdefault(operation, len(self.operations))

    def _enter(self, frames: list[Any]) -> None:
        if frames[-1] is not self._frame:
            self.finish()
            self._frame = frames[-1]
            self._calls += 1
            entry = entry_of(frames, self._package)
            self._entry = None if entry is None else self.entries.setdefault(entry, len(self.entries))

    def _own_frames(self) -> list[Any]:
        """The checkout's package's frames on the stack, innermost first; none if a test stands nearer."""
        found: list[Any] = []
        frame: Any = sys._getframe(2)
        while frame is not None:
            path = frame.f_code.co_filename
            if path.startswith(self._package):
                found.append(frame)
            elif not found and path.startswith(self._tests):
                break
            frame = frame.f_back
        return found

    def _storage(self, tensor: torch.Tensor) -> int:
        storage = tensor.untyped_storage()
        self._alive.append(storage)  # so that no other storage gets its address while the call lasts
        return int(storage._cdata)


def described(tensor: torch.Tensor) -> records.HostTensor:
    """A tensor as a record."""
    return records.HostTensor(
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()) if tensor.layout is torch.strided else (),
        device=tensor.device.type,
    )


def _names(storages: frozenset[int], steps: Sequence[_Step]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for s in steps for where, name in s.parameters.items() if where in storages))


def _options(func: Any, args: Any, kwargs: Any) -> Iterator[str]:
    """The arguments that are no tensors, as Python spells them."""
    named = [a.name for a in func._schema.arguments]
    for name, value in [*zip(named, args, strict=False), *kwargs.items()]:
        leaves, _ = tree_flatten(value)
        if value is None or name in UNSAID or any(isinstance(leaf, torch.Tensor) for leaf in leaves):
            continue
        yield f"{name}={value!r}"[:LONGEST]
