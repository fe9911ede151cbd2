"""Is an entry still what its samples are? Emitted without a build, compared by the ladder."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tileport_skill.capture.records import Array, Constant, Scalar
from tileport_skill.draft import rust
from tileport_skill.draft.facts import rust_element
from tileport_skill.draft.from_ir.samples import Sample
from tileport_skill.draft.idioms import with_their_own
from tileport_skill.draft.kernel import Entry
from tileport_skill.draft.naming import constant_name
from tileport_skill.draft.printer import print_module
from tileport_skill.emit.derived import computed, numbers, spelled
from tileport_skill.emit.launcher import TensorFacts
from tileport_skill.emit.mapping import TENSOR_CORES, Request
from tileport_skill.emit.program import Emitter
from tileport_skill.tileir.ladder import compare
from tileport_skill.tileir.search import Budget
from tileport_skill.tileir.verdicts import Equal

MOST = 4
"""Samples that a step is tried on; `--check` compares every captured launch."""
GRAPHS = Budget(inputs=0, attempts=0, seconds=0.0, assembling=30.0)


class Prover:
    """Answers for the entries of one file."""

    def __init__(self, emitter: Emitter, arch: str, *, declare: bool) -> None:
        self._emitter, self._arch, self._declare = emitter, arch, declare
        self._known: dict[tuple[str, tuple[str, ...]], list[bytes | None]] = {}
        """What a step was tried with is what the next one begins at."""

    def holds(self, entry: Entry, samples: Sequence[Sample], before: Entry | None = None) -> bool:
        """Whether `entry` is equal to some of `samples`, spread over all; by way of what it was `before`, if given."""
        captured = [one for one in samples if one.captured]
        chosen = captured[:: max(1, len(captured) // MOST)][:MOST]
        made = self._emitted(entry, chosen)
        if any(code is None for code in made):
            return False
        earlier = self._emitted(before, chosen) if before is not None else [None] * len(chosen)
        pairs = zip(chosen, made, earlier, strict=True)
        return all(code is not None and self._equal(one, code, old) for one, code, old in pairs)

    def _emitted(self, entry: Entry, samples: Sequence[Sample]) -> list[bytes | None]:
        idioms = with_their_own(sorted(entry.idioms), declare=self._declare)
        text = print_module(rust.Module(name="proof", head=(), idioms=idioms, functions=(entry.entry,)))
        key = (text, tuple(one.specialisation.id for one in samples))
        if key in self._known:
            return self._known[key]
        with tempfile.TemporaryDirectory(prefix="tileport-draft-") as folder:
            path = Path(folder) / "kernel.rs"
            path.write_text(text, encoding="utf-8")
            answers = self._emitter.emit(path, [request_for_sample(entry, one, self._arch) for one in samples])
        self._known[key] = [answer.bytecode for answer in answers]
        return self._known[key]

    def _equal(self, sample: Sample, bytecode: bytes, before: bytes | None) -> bool:
        """By graphs alone where that is enough: no cubin is made."""
        for other in (before, sample.bytecode):
            if other is not None and isinstance(compare(other, bytecode, None, GRAPHS), Equal):
                return True
        return isinstance(compare(sample.bytecode, bytecode, self._arch, GRAPHS), Equal)


def request_for_sample(entry: Entry, sample: Sample, arch: str) -> Request:
    """The entry compiled as the sample is: for its constants, nothing known of its arguments but a last stride of 1."""
    left = [text.partition(": ")[::2] for text in entry.entry.parameters]
    tensors: list[TensorFacts] = []
    scalars: list[tuple[str, int]] = []
    types: dict[str, str] = {}
    for parameter in sample.specialisation.parameters:
        match parameter:
            case Array():
                name, kind = left.pop(0)
                types[entry.variant.elements[parameter.name]] = rust_element(parameter.dtype)
                if kind.startswith("&"):
                    axes = range(parameter.ndim)
                    last = parameter.stride_constant[-1:] == (1,)
                    tensors.append(_facts(name, tuple(last and axis == parameter.ndim - 1 for axis in axes)))
                    continue
                scalars += [(name, 1), *((part, 1) for part, _ in left[: 2 * parameter.ndim])]
                del left[: 2 * parameter.ndim]
            case Scalar():
                name, kind = left.pop(0)
                scalars += [] if kind.startswith("f") else [(name, 1)]
    return Request(
        entry=entry.entry.name,
        arch=arch,
        symbol=sample.entry.name,
        generics=tuple(_generic(text, entry, sample, types) for text in entry.entry.generics),
        tensors=tuple(tensors),
        scalars=tuple(scalars),
        occupancy=None,
        num_cta_in_cga=None,
    )


def _generic(text: str, entry: Entry, sample: Sample, types: dict[str, str]) -> str:
    name = text.removeprefix("const ").partition(":")[0]
    if not text.startswith("const "):
        base = name.removesuffix(TENSOR_CORES)
        return "tf32" if base != name and types[base] == "f32" else types[base]
    constants = [p for p in sample.specialisation.parameters if isinstance(p, Constant)]
    derived = next((one for one in entry.derived if one.generic == name), None)
    said = (
        derived.python
        if derived
        else next(p.name for p in constants if constant_name(p.name) == name.removesuffix("_BITS"))
    )
    value = computed(said, numbers(constants))
    return spelled(float(value) if name.endswith("_BITS") else value)


def _facts(name: str, known: tuple[bool, ...]) -> TensorFacts:
    ones = (1,) * len(known)
    return TensorFacts(
        name=name,
        strides=tuple(1 if one else -1 for one in known),
        shape_div=ones,
        stride_div=ones,
        stride_one=known,
        base_div=1,
        disjoint=False,
    )
