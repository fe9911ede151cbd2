"""What a kernel asks of the compiler, in a few words: the tiles it loads and stores, and its hints.

Two configurations of one kernel differ in these. Read from the Tile IR itself, so that both front ends' kernels are
described by the same words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tileport_skill.tileir.hints import hints_for
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.records import Op, walk
from tileport_skill.tileir.types import Tile

_ACCESS = re.compile(r"(load|store)_\w+_tko")


@dataclass(frozen=True, slots=True)
class Outline:
    """Each list without repetitions, in the order of the text."""

    loads: tuple[str, ...]
    stores: tuple[str, ...]
    hints: tuple[str, ...]
    """Of the entry, then of its accesses with the number of those that bear each."""

    def __str__(self) -> str:
        return f"loads {', '.join(self.loads)}; stores {', '.join(self.stores)}; {', '.join(self.hints) or 'no hints'}"


def outline_of(text: str, arch: str) -> Outline:
    """The outline of the one entry of `text` as it is compiled for `arch`. Raises `ParseError`."""
    (entry,) = parse(text).entries
    accesses = [op for op in walk(entry.body) if _ACCESS.match(op.name)]
    own = [hints_for(op.attributes.get("optimization_hints"), arch) for op in accesses]
    return Outline(
        loads=tuple(dict.fromkeys(_tile(op, op.results[0].type) for op in accesses if op.name.startswith("load"))),
        stores=tuple(
            dict.fromkeys(
                _tile(op, next(iter(op.all_operands())).type) for op in accesses if op.name.startswith("store")
            )
        ),
        hints=(
            *(f"{name} {value}" for name, value in sorted(hints_for(entry.hints, arch).items())),
            *(f"{len(own)} accesses with {n} {v}" for n, v in sorted({p for each in own for p in each.items()})),
        ),
    )


def _tile(op: Op, type_: object) -> str:
    return "x".join(map(str, type_.shape)) if isinstance(type_, Tile) else op.name
