"""Are two kernels the same? A ladder of checks, cheapest first; the first that decides answers.

Nothing here believes a name or a comment: every answer rests on bytes, graphs or results that are compared,
or says `Unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tileport_skill.errors import RequestError
from tileport_skill.tileir import differences
from tileport_skill.tileir.assemble import Cubin, Refused, assemble, disassemble, toolchain_version
from tileport_skill.tileir.cubin import instruction_count, remarks
from tileport_skill.tileir.differences import Side
from tileport_skill.tileir.graph import build
from tileport_skill.tileir.launch import LaunchShape
from tileport_skill.tileir.numbering import Numbering
from tileport_skill.tileir.parse import ParseError, parse
from tileport_skill.tileir.promise_witness import promise_witness
from tileport_skill.tileir.records import Global, Module
from tileport_skill.tileir.rules import EXACT, OVER_REALS, Closure
from tileport_skill.tileir.search import Budget, search
from tileport_skill.tileir.verdicts import (
    Difference,
    Different,
    Equal,
    Proof,
    Unknown,
    Verdict,
    Witness,
)

__all__ = ["Different", "Equal", "Source", "Unknown", "Verdict", "compare", "compare_sources", "read_source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One side as it was given. Without bytecode there is no cubin, and the ladder starts a rung higher."""

    text: str
    bytecode: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Cubins:
    a: Cubin
    b: Cubin

    @property
    def same(self) -> bool:
        return self.a.image == self.b.image


def read_source(content: bytes) -> Source:
    """`content` is bytecode or text. Raises `RequestError` if it is bytecode that `tileirdisasm` refuses."""
    if content.startswith((b"entry ", b"global ")):
        return Source(text=content.decode("utf-8", errors="replace"))
    text = disassemble(content)
    if isinstance(text, Refused):
        raise RequestError(f"not Tile IR: {text.reason}")
    return Source(text=text, bytecode=content)


def compare(
    a: bytes,
    b: bytes,
    arch: str | None,
    budget: Budget | None = None,
    launches: Sequence[LaunchShape] = (),
) -> Verdict:
    """Compares two kernels given as bytecode, the reference `a` and the port `b`, on `arch`.

    The sides must share their one entry symbol, for it is part of the cubin: export both under one name.
    `budget` bounds the last rung, which alone can take more than a second; with `launches` it tries only those,
    so that a port is not called different for an input no host makes.
    """
    sources = []
    for side, bytecode in (("first", a), ("second", b)):
        try:
            sources.append(read_source(bytecode))
        except RequestError as error:
            return Unknown(reasons=(f"The {side} input is {error}",))
    return compare_sources(sources[0], sources[1], arch, budget, launches)


def compare_sources(
    a: Source,
    b: Source,
    arch: str | None,
    budget: Budget | None = None,
    launches: Sequence[LaunchShape] = (),
) -> Verdict:
    """As `compare`, for sides already read. Never raises for what a kernel says, only for our machinery."""
    modules = []
    for side, source in (("first", a), ("second", b)):
        try:
            modules.append(parse(source.text))
        except ParseError as error:
            return _unread(a, b, arch, f"The {side} input could not be read: {error}")
    unlike = _entries_unlike(modules[0], modules[1])
    if unlike:
        return Unknown(reasons=(unlike,))
    cubins = _assemble(a, b, arch)
    if isinstance(cubins, Refused):
        return Unknown(reasons=(cubins.reason,))
    try:
        return _climb(modules[0], modules[1], cubins, arch, budget, launches)
    except _ODD as error:
        # Text that no verifier has seen can break any rule of the dialect. Saying so is always sound.
        reason = f"A kernel is not as the dialect has it: {type(error).__name__}: {error}"
        return _unread(a, b, arch, reason)


_ODD = (LookupError, TypeError, ValueError, AssertionError, ArithmeticError, RuntimeError, MemoryError)


def _climb(
    a: Module,
    b: Module,
    cubins: _Cubins | str,
    arch: str | None,
    budget: Budget | None,
    launches: Sequence[LaunchShape],
) -> Verdict:
    """The rungs, one after the other."""
    numbering = Numbering()
    left, right = (Side(module, module.entries[0], build(module.entries[0], numbering)) for module in (a, b))
    if isinstance(cubins, _Cubins) and cubins.same:
        notes = _as_notes(_all_differences(left, right, numbering, arch))
        return Equal(proof=_cubin_proof(cubins.a), differences=notes)
    if left.graph.whole == right.graph.whole:
        return _same_graph(left, right, numbering, cubins, arch, _GRAPH_PROOF)
    ruled = _by_rules(a, b, cubins, arch)
    if ruled is not None:
        return ruled
    searched = search(left.entry, right.entry, budget, launches)
    found = tuple(_all_differences(left, right, numbering, arch))
    if searched.witness is not None:
        return Different(witness=searched.witness, differences=found, tested=searched.tested)
    reasons = _reasons(cubins, "The graphs differ.", searched.reason)
    return Unknown(reasons=reasons, differences=found, tested=searched.tested)


def _entries_unlike(a: Module, b: Module) -> str | None:
    """Why the two cannot be compared at all."""
    for side, module in (("first", a), ("second", b)):
        if len(module.entries) != 1:
            names = ", ".join(entry.name for entry in module.entries) or "none"
            return f"The {side} input must hold exactly one entry; it holds {len(module.entries)} ({names})."
    ours, theirs = a.entries[0], b.entries[0]
    if ours.name != theirs.name:
        return (
            f"The entry symbols differ, {ours.name} and {theirs.name}, and they are part of the cubin. "
            "Export both sides under one symbol."
        )
    types = [", ".join(str(argument.type) for argument in entry.arguments) for entry in (ours, theirs)]
    if types[0] != types[1]:
        return f"The entries take different arguments: ({types[0]}) and ({types[1]})."
    variables = [sorted(i.text for i in module.items if isinstance(i, Global)) for module in (a, b)]
    if variables[0] != variables[1]:
        return "The modules' global variables differ."
    return None


def _unread(a: Source, b: Source, arch: str | None, reason: str) -> Verdict:
    """Bytes can still be compared where the text says something unknown."""
    cubins = _assemble(a, b, arch)
    if isinstance(cubins, _Cubins) and cubins.same:
        return Equal(proof=_cubin_proof(cubins.a))
    return Unknown(reasons=(reason,))


def _assemble(a: Source, b: Source, arch: str | None) -> _Cubins | Refused | str:
    """Both cubins, or why there are none: refused by the compiler, or never tried."""
    if arch is None:
        return "No architecture was given, so no cubins were compared."
    cubins = []
    for side, source in (("first", a), ("second", b)):
        if source.bytecode is None:
            return f"The {side} input is text, so no cubins were compared."
        cubin = assemble(source.bytecode, arch)
        if isinstance(cubin, Refused):
            reason = f"tileiras refused the {side} input for {arch}: {cubin.reason}"
            return Refused(tool=cubin.tool, reason=reason)
        cubins.append(cubin)
    return _Cubins(cubins[0], cubins[1])


def _cubin_proof(cubin: Cubin) -> Proof:
    """Whole files only: device code alone is the same for `A@B` and `B@A`, which differ in the host part."""
    return Proof(
        rung="same cubin",
        text=f"Both sides give the same {len(cubin.image)} bytes of cubin for {cubin.arch}.",
        arch=cubin.arch,
        compiler=f"tileiras {toolchain_version()}",
        cubin_sha256=cubin.sha256,
    )


_GRAPH_PROOF = Proof(
    rung="same graph",
    text="Both sides compute the same graph: same operations on the same values, ordered alike in memory.",
)


def _by_rules(a: Module, b: Module, cubins: _Cubins | str, arch: str | None) -> Verdict | None:
    """The graphs once more, rewritten as they are built: by exact rules, then by those over the reals."""
    for rules in (EXACT, (*EXACT, *OVER_REALS)):
        closure = Closure(rules)
        numbering = Numbering(closure)
        left, right = (Side(module, module.entries[0], build(module.entries[0], numbering)) for module in (a, b))
        if left.graph.whole != right.graph.whole:
            continue
        proof = Proof(
            rung="named rules",
            text="Both sides compute the same graph once rewritten by the rules named.",
            rules=tuple(sorted(closure.used)),
            over_reals=any(rule.over_reals for rule in closure.used.values()),
        )
        return _same_graph(left, right, numbering, cubins, arch, proof)
    return None


def _same_graph(
    a: Side, b: Side, numbering: Numbering, cubins: _Cubins | str, arch: str | None, proof: Proof
) -> Verdict:
    """The results are the same; what is promised to the compiler, or asked of it, may not be."""
    unsound = differences.more_promised(a, b, numbering)
    slow = [*differences.less_promised(a, b, numbering), *differences.hints(a, b, arch)]
    if unsound:
        witness = promise_witness(a, b, numbering)
        found = (*unsound, *slow)
        if witness is not None:
            return Different(witness=witness, differences=found)
        reason = "The graphs are the same, but the second side promises more than the first."
        return Unknown(reasons=(reason,), differences=found)
    if slow:
        if isinstance(cubins, str):
            return Unknown(
                reasons=("Only speed can differ; how much was not measured.", cubins), differences=tuple(slow)
            )
        return Different(witness=_speed_witness(cubins), differences=tuple(slow))
    return Equal(proof=proof, differences=tuple(_measured(cubins)))


def _speed_witness(cubins: _Cubins) -> Witness:
    return Witness(
        kind="speed",
        inputs="any",
        where=f"instructions and remarks for {cubins.a.arch}",
        a=_speed(cubins.a),
        b=_speed(cubins.b),
    )


def _speed(cubin: Cubin) -> str:
    said = "; ".join(f"{count} × {remark}" for remark, count in sorted(remarks(cubin).items()))
    return f"{instruction_count(cubin)} instructions; {said or 'no remarks'}"


def _measured(cubins: _Cubins | str) -> list[Difference]:
    if isinstance(cubins, str) or _speed(cubins.a) == _speed(cubins.b):
        return []
    text = f"the cubins differ: {_speed(cubins.a)} and {_speed(cubins.b)}"
    return [Difference(kind="instructions", severity="note", text=text)]


def _all_differences(a: Side, b: Side, numbering: Numbering, arch: str | None) -> list[Difference]:
    return [
        *differences.structural(a, b),
        *differences.more_promised(a, b, numbering),
        *differences.less_promised(a, b, numbering),
        *differences.hints(a, b, arch),
    ]


def _as_notes(found: list[Difference]) -> tuple[Difference, ...]:
    """Without effect on this compiler; another version may tell them apart."""
    return tuple(replace(each, severity="note") for each in found)


def _reasons(cubins: _Cubins | str, *more: str) -> tuple[str, ...]:
    first = cubins if isinstance(cubins, str) else f"The cubins for {cubins.a.arch} differ."
    return (first, *more)
