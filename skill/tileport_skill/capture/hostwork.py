"""What a port's host must do around a kernel besides launching it: the captured operations, one line for each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tileport_skill.capture.records import FORBID, Capture, HostOperation, HostTensor

MOST_EXAMPLES = 4
"""Spellings of types and arguments kept of one operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """One operation at one line, over all launches of a kernel that it stands before or after."""

    place: Literal["before", "after"]
    operation: str
    where: str
    types: tuple[str, ...]
    """`float32[4, 1000] -> bfloat16[4, 1000]`: the first of the types and shapes it was seen with."""
    options: tuple[str, ...]
    feeds: tuple[str, ...]
    """Parameters of launches that get its result, `_kernel.x`."""
    takes: tuple[str, ...]
    """Parameters of earlier launches whose arrays it reads."""
    launches: int
    """Untuned launches of the kernel that it stands beside."""
    __pydantic_config__: ClassVar = FORBID


def host_work(captures: Sequence[Capture]) -> tuple[HostWork, ...]:
    """Of captures with one kernel in them; in the order in which the host first does it."""
    seen: dict[tuple[str, str, str], list[HostOperation]] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for captured in captures:
        for launch in captured.launches:
            if launch.purpose != "launch":
                continue
            beside = set()
            for place, numbers in (("before", launch.before), ("after", launch.after)):
                for operation in (captured.host[number] for number in numbers):
                    key = (place, operation.operation, operation.where)
                    seen.setdefault(key, []).append(operation)
                    beside.add(key)
            counts.update(beside)
    return tuple(_summed(key, operations, counts[key]) for key, operations in seen.items())


def _summed(key: tuple[str, str, str], operations: list[HostOperation], launches: int) -> HostWork:
    place, operation, where = key
    types = [f"{_spelt(o.inputs)} -> {_spelt(o.outputs)}" for o in operations]
    options = [", ".join(o.options) for o in operations]
    return HostWork(
        place="before" if place == "before" else "after",
        operation=operation,
        where=where,
        types=tuple(dict.fromkeys(types))[:MOST_EXAMPLES],
        options=tuple(option for option in dict.fromkeys(options) if option)[:MOST_EXAMPLES],
        feeds=tuple(dict.fromkeys(name for o in operations for name in o.feeds)),
        takes=tuple(dict.fromkeys(name for o in operations for name in o.takes)),
        launches=launches,
    )


def _spelt(tensors: Sequence[HostTensor]) -> str:
    return (
        ", ".join(f"{t.dtype}{list(t.shape)}" + ("" if t.device == "cuda" else f" on {t.device}") for t in tensors)
        or "nothing"
    )
