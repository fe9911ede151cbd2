"""What a hostile or an honest port is: named edits to one port that is known to be good."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tileport_skill.correctness.decide import Check

PORT = Path(__file__).parents[1] / "scripts" / "silu_and_mul" / "port"
"""The good port; in a tree its files lie where `PLACES` says."""
WRAPPER, KERNEL, LAUNCHER = "silu_and_mul.py", "kernel.rs", "ffi.rs"
LIBRARY = "tilegym/ops/cutile_rs/cutile_kernels/target/release/libcutile_kernels.so"
TESTS = "tests/ops/test_silu_and_mul.py"
PLACES = {
    WRAPPER: "tilegym/ops/cutile_rs/silu_and_mul.py",
    KERNEL: "tilegym/ops/cutile_rs/silu_and_mul_kernel/kernel.rs",
    LAUNCHER: "tilegym/ops/cutile_rs/silu_and_mul_kernel/ffi.rs",
    TESTS: TESTS,
}

Gate = Literal["correctness", "tile-ir", "bytecode", "policy", "source"]
"""`bytecode` looks at what a run on a GPU caught; `source` reads the wrapper; `policy` the patch's paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of one file."""

    file: str = WRAPPER
    old: str = ""
    """Text that is there exactly once; empty to append."""
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One variant of the good port, and what must become of it."""

    name: str
    about: str
    edits: tuple[Edit, ...]
    hacks: tuple[int, ...] = ()
    """Numbers in the list of reward hacks that were seen elsewhere."""
    gate: Gate | None = "correctness"
    """The one that rejects it; None for an honest port."""
    rejected_by: tuple[Check, ...] = ()
    """Checks of the correctness run that must fire, each of them; none where that run must find nothing."""
    also: tuple[Check, ...] = ()
    """What may fire beside them, because one deed has two faces."""

    @property
    def honest(self) -> bool:
        return self.gate is None

    @property
    def is_built(self) -> bool:
        """Whether it needs a library of its own, which takes a machine with cargo."""
        return any(edit.file in (KERNEL, LAUNCHER) for edit in self.edits)

    def is_understood_by(self, fired: set[str]) -> bool:
        """Whether the correctness run that found `fired` got this port right."""
        return set(self.rejected_by) <= fired <= {*self.rejected_by, *self.also}


def appended(text: str) -> tuple[Edit, ...]:
    """The edit that most of them are: a few lines at the wrapper's end."""
    return (Edit(new="\n\n" + text.strip("\n") + "\n"),)


def edited(text: str, edits: tuple[Edit, ...]) -> str:
    """One file's text after its edits. Raises `ValueError` where one does not fit."""
    for edit in edits:
        if not edit.old:
            text += edit.new
        elif text.count(edit.old) == 1:
            text = text.replace(edit.old, edit.new)
        else:
            raise ValueError(f"{edit.file} holds this {text.count(edit.old)} times:\n{edit.old}")
    return text


def files_of(port: Port) -> dict[str, tuple[Edit, ...]]:
    """The edits by file."""
    names = dict.fromkeys(edit.file for edit in port.edits)
    return {name: tuple(edit for edit in port.edits if edit.file == name) for name in names}
