"""Are two kernels the same? A ladder of checks, cheapest first; the first that decides answers.

Nothing here believes a name or a comment: every answer rests on bytes, graphs or results that are compared,
or says `Unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tileport_skill.errors import RequestError
from tileport_skill.tileir import differences
from tileport_skill.tileir.assemble import Cubin, Refused, assemble, disassemble, toolchain_version
from tileport_skill.tileir.cubin import Cubins, measured, speed_witness
from tileport_skill.tileir.differences import Side, uncovered
from tileport_skill.tileir.graph import build
from tileport_skill.tileir.known_branches import NAME as KNOWN_BRANCH
from tileport_skill.tileir.known_branches import settle
from tileport_skill.tileir.launch import LaunchShape
from tileport_skill.tileir.numbering import Numbering
from tileport_skill.tileir.parse import ParseError, parse
from tileport_skill.tileir.promise_witness import Kept, is_kept, promise_witness
from tileport_skill.tileir.records import Global, Module, walk
from tileport_skill.tileir.rewriting import Closure
from tileport_skill.tileir.rules import EXACT, IN_RANGE, OVER_REALS
from tileport_skill.tileir.search import Budget, search
from tileport_skill.tileir.verdicts import (
    Difference,
    Different,
    Equal,
    Proof,
    Unknown,
    Verdict,
)

__all__ = ["Different", "Equal", "Source", "Unknown", "Verdict", "compare", "compare_sources", "read_source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One side as it was given. Without bytecode there is no cubin, and the ladder starts a rung higher."""

    text: str
    bytecode: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a comparison may take for granted, and what it may cost."""

    arch: str | None
    budget: Budget = field(default_factory=Budget)
    launches: Sequence[LaunchShape] = ()
    """If given, the only launches that count: a port is not called different for an input no host makes."""
    kept: Kept = field(default_factory=dict)
    """Facts by argument that the port's host checks before it launches this kernel."""
    fixed: Mapping[int, int] = field(default_factory=dict)
    """Integer arguments, by place, that are one number in every launch that counts."""


def read_source(content: bytes) -> Source:
    """`content` is bytecode or text. Raises `RequestError` if it is bytecode that `tileirdisasm` refuses."""
    if content.startswith((b"entry ", b"global ")):
        return Source(text=content.decode("utf-8", errors="replace"))
    text = disassemble(content)
    if isinstance(text, Refused):
        said = text.reason.replace("error: error", "error")
        raise RequestError(
            f"not Tile IR: {said}. Expected bytecode, or text as tileirdisasm prints it, which begins with `entry`."
        )
    return Source(text=text, bytecode=content)


def compare(
    a: bytes,
    b: bytes,
    arch: str | None,
    budget: Budget | None = None,
    launches: Sequence[LaunchShape] = (),
    kept: Kept | None = None,
    fixed: Mapping[int, int] | None = None,
) -> Verdict:
    """Compares two kernels given as bytecode, the reference `a` and the port `b`, on `arch`.

    The sides must share their one entry symbol, for it is part of the cubin: export both under one name.
    `budget` bounds `tileiras` and the last rung, which alone can take more than a second; for `launches`, `kept`
    and `fixed` see `Setting`.
    """
    sources = []
    for side, bytecode in (("first", a), ("second", b)):
        try:
            sources.append(read_source(bytecode))
        except RequestError as error:
            return Unknown(reasons=(f"The {side} input is {error}",))
    setting = Setting(arch=arch, budget=budget or Budget(), launches=launches, kept=kept or {}, fixed=fixed or {})
    return compare_in(sources[0], sources[1], setting)


def compare_sources(
    a: Source,
    b: Source,
    arch: str | None,
    budget: Budget | None = None,
    launches: Sequence[LaunchShape] = (),
    kept: Kept | None = None,
) -> Verdict:
    """As `compare`, for sides already read."""
    return compare_in(a, b, Setting(arch=arch, budget=budget or Budget(), launches=launches, kept=kept or {}))


def compare_in(a: Source, b: Source, setting: Setting) -> Verdict:
    """As `compare`. Never raises for what a kernel says, only for our machinery."""
    modules = []
    for side, source in (("first", a), ("second", b)):
        try:
            modules.append(parse(source.text))
        except ParseError as error:
            return _unread(a, b, setting, f"The {side} input could not be read: {error}")
    unlike = _entries_unlike(modules[0], modules[1])
    if unlike:
        return Unknown(reasons=(unlike,))
    try:
        decided = _graphs_first(modules[0], modules[1], setting)
        if decided is not None:
            return decided
        cubins = _assemble(a, b, setting)
        if isinstance(cubins, Refused):
            return Unknown(reasons=(cubins.reason,))
        return _climb(modules[0], modules[1], cubins, setting)
    except _ODD as error:
        # Text that no verifier has seen can break any rule of the dialect. Saying so is always sound.
        return _unread(a, b, setting, _odd(error))


def _graphs_first(a: Module, b: Module, setting: Setting) -> Equal | None:
    """What the graphs alone show equal; with a condition only where any speed will do, as a cubin needs none."""
    if not (setting.budget.any_speed or (setting.budget.graphs_first and _costly(a))):
        return None
    decided, _ = _by_graphs(a, b, _GRAPHS_FIRST, setting)
    if not isinstance(decided, Equal):
        return None
    conditional = decided.proof.over_reals or decided.proof.while_true
    return None if conditional and not setting.budget.any_speed else decided


def _costly(module: Module) -> bool:
    """Whether `tileiras` takes seconds to minutes: what multiplies matrices does, the rest is done within one."""
    return any(op.name in ("mmaf", "mmai", "mmaf_scaled") for entry in module.entries for op in walk(entry.body))


_ODD = (LookupError, TypeError, ValueError, AssertionError, ArithmeticError, RuntimeError, MemoryError)


def _odd(error: Exception) -> str:
    return f"A kernel is not as the dialect has it: {type(error).__name__}: {error}"


def _climb(a: Module, b: Module, cubins: Cubins | str, setting: Setting) -> Verdict:
    """The rungs, one after the other."""
    left, right, numbering = _sides(a, b)
    if isinstance(cubins, Cubins) and cubins.same:
        notes = _as_notes(_all_differences(left, right, numbering, setting))
        return Equal(proof=_cubin_proof(cubins.a), differences=notes)
    decided, weaker = _by_graphs(a, b, cubins, setting)
    if decided is not None:
        return decided
    found = (*_all_differences(left, right, numbering, setting), *measured(cubins))
    try:
        searched = search(left.entry, right.entry, setting.budget, setting.launches)
    except _ODD as error:  # what the graphs showed is not lost with the run
        return Unknown(reasons=_reasons(cubins, "The graphs differ.", _odd(error)), differences=found)
    if searched.witness is not None:
        return Different(witness=searched.witness, differences=found, tested=searched.tested)
    reasons = _reasons(cubins, *(weaker or ("The graphs differ.",)), searched.reason)
    return Unknown(reasons=reasons, differences=found, tested=searched.tested)


def _sides(a: Module, b: Module) -> tuple[Side, Side, Numbering]:
    """Both sides' graphs, in one numbering of values."""
    numbering = Numbering()
    left, right = (Side(module, module.entries[0], build(module.entries[0], numbering)) for module in (a, b))
    return left, right, numbering


def _by_graphs(a: Module, b: Module, cubins: Cubins | str, setting: Setting) -> tuple[Verdict | None, tuple[str, ...]]:
    """The rungs that need no run: same graph, and same up to rules. If undecided, what the port asks less of."""
    left, right, numbering = _sides(a, b)
    if left.graph.whole == right.graph.whole:
        return _same_graph(left, right, numbering, cubins, setting, _GRAPH_PROOF), ()
    ruled = _by_rules(a, b, cubins, setting)
    return (ruled, ()) if ruled is not None else _by_strength(a, b, cubins, setting)


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


def _unread(a: Source, b: Source, setting: Setting, reason: str) -> Verdict:
    """Bytes can still be compared where the text says something unknown."""
    cubins = _assemble(a, b, setting)
    if isinstance(cubins, Cubins) and cubins.same:
        return Equal(proof=_cubin_proof(cubins.a))
    return Unknown(reasons=(reason,))


def _assemble(a: Source, b: Source, setting: Setting) -> Cubins | Refused | str:
    """Both cubins, or why there are none: refused by the compiler, or never made."""
    if setting.arch is None:
        return "No architecture was given, so no cubins were compared."
    cubins = []
    for side, source in (("first", a), ("second", b)):
        if source.bytecode is None:
            return f"The {side} input is text, so no cubins were compared."
        cubin = assemble(source.bytecode, setting.arch, setting.budget.assembling)
        if isinstance(cubin, Refused):
            if cubin.timed_out:
                return f"tileiras gave no cubin of the {side} input for {setting.arch}: {cubin.reason}."
            return Refused(
                tool=cubin.tool, reason=f"tileiras refused the {side} input for {setting.arch}: {cubin.reason}"
            )
        cubins.append(cubin)
    return Cubins(cubins[0], cubins[1])


def _cubin_proof(cubin: Cubin) -> Proof:
    """Whole files only: device code alone is the same for `A@B` and `B@A`, which differ in the host part."""
    return Proof(
        rung="same cubin",
        text=f"Both sides give the same {len(cubin.image)} bytes of cubin for {cubin.arch}.",
        arch=cubin.arch,
        compiler=f"tileiras {toolchain_version()}",
        cubin_sha256=cubin.sha256,
    )


_GRAPHS_FIRST = "The graphs were compared first, and no cubins were made."
_GRAPH_PROOF = Proof(
    rung="same graph",
    text="Both sides compute the same graph: same operations on the same values, ordered alike in memory.",
)


def _by_rules(a: Module, b: Module, cubins: Cubins | str, setting: Setting) -> Verdict | None:
    """The graphs once more, rewritten as they are built: by exact rules first, then by those that hold in part.

    What arguments are in every launch comes last: a proof that needs it says so.
    """
    kinds = (EXACT, (*EXACT, *IN_RANGE), (*EXACT, *IN_RANGE, *OVER_REALS))
    settled = (settle(a), settle(b))
    also = [] if settled[0] is a and settled[1] is b else [KNOWN_BRANCH]
    ways = [(rules, fixed) for fixed in ({}, setting.fixed)[: 2 if setting.fixed else 1] for rules in kinds]
    for rules, fixed in ways:
        closure = Closure(rules)
        numbering = Numbering(closure)
        graphs = [build(module.entries[0], numbering, fixed=fixed) for module in settled]
        left, right = (Side(m, m.entries[0], graph) for m, graph in zip(settled, graphs, strict=True))
        if left.graph.whole != right.graph.whole:
            continue
        numbers = ", ".join(f"{place} is {value}" for place, value in sorted(fixed.items()))
        known = [f"the arguments, counted from 0, are as every launch has them: {numbers}"] if fixed else []
        also += ["arguments that every launch fixes"] if known else []
        proof = Proof(
            rung="named rules",
            text="Both sides compute the same graph once rewritten by the rules named.",
            rules=tuple(sorted({*closure.used, *also})),
            over_reals=any(rule.over_reals for rule in closure.used.values()),
            while_true=(*sorted({rule.while_true for rule in closure.used.values() if rule.while_true}), *known),
        )
        return _same_graph(left, right, numbering, cubins, setting, proof)
    return None


def _by_strength(
    a: Module, b: Module, cubins: Cubins | str, setting: Setting
) -> tuple[Verdict | None, tuple[str, ...]]:
    """A port may ask for more ordering or exactness than its reference. What it asks less of is told."""
    closure = Closure((*EXACT, *IN_RANGE))
    numbering = Numbering(closure)
    left, right = (Side(m, m.entries[0], build(m.entries[0], numbering, loose=True)) for m in (a, b))
    if left.graph.whole != right.graph.whole:
        return None, ()
    found = differences.strengths(left, right)
    weaker = tuple(f"Not decided whether this can be seen: {each.text}." for each in found if each.severity == "wrong")
    if weaker:
        return None, weaker
    used = {f"stronger {each.kind}" for each in found}
    proof = Proof(
        rung="named rules",
        text="Both sides compute the same graph, in which the second asks for at least what the first does.",
        rules=tuple(sorted({*closure.used, *used})),
        over_reals="stronger rounding" in used,
        while_true=tuple(sorted({rule.while_true for rule in closure.used.values() if rule.while_true})),
    )
    return _same_graph(left, right, numbering, cubins, setting, proof, found), ()


def _same_graph(
    a: Side,
    b: Side,
    numbering: Numbering,
    cubins: Cubins | str,
    setting: Setting,
    proof: Proof,
    stronger: Sequence[Difference] = (),
) -> Verdict:
    """The results are the same; what is promised to the compiler, or asked of it, may not be."""
    more = uncovered(b, a, numbering, anywhere=False)
    unsound = differences.promised(b, [p for p in more if not is_kept(p, numbering, setting.kept)], "unsound")
    checked = differences.promised(b, [p for p in more if is_kept(p, numbering, setting.kept)], "note")
    slow = [*differences.less_promised(a, b, numbering), *differences.hints(a, b, setting.arch), *stronger]
    if unsound:
        witness = promise_witness(a, b, numbering, setting.launches, setting.kept)
        found = (*unsound, *slow, *measured(cubins))
        if witness is not None:
            return Different(witness=witness, differences=found)
        reason = "The graphs are the same, but the second side promises more than the first"
        tried = f"; all {len(setting.launches)} launches known keep it" if setting.launches else ""
        return Unknown(reasons=(f"{reason}{tried}.",), differences=found)
    if slow and setting.budget.any_speed:
        return Equal(proof=_any_speed(proof), differences=(*checked, *_as_notes(slow)))
    if slow:
        if isinstance(cubins, str):
            return Unknown(
                reasons=("Only speed can differ; how much was not measured.", cubins), differences=tuple(slow)
            )
        return Different(witness=speed_witness(cubins), differences=(*slow, *checked))
    return Equal(proof=proof, differences=(*checked, *measured(cubins)))


def _any_speed(proof: Proof) -> Proof:
    """The proof where nobody asked for speed."""
    return replace(proof, text=f"{proof.text} They may differ in speed, which was not measured.")


def _all_differences(a: Side, b: Side, numbering: Numbering, setting: Setting) -> list[Difference]:
    more = uncovered(b, a, numbering, anywhere=False)
    return [
        *differences.structural(a, b),
        *differences.promised(b, [p for p in more if not is_kept(p, numbering, setting.kept)], "unsound"),
        *differences.less_promised(a, b, numbering),
        *differences.hints(a, b, setting.arch),
    ]


def _as_notes(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """Without effect on this compiler; another version may tell them apart."""
    return tuple(replace(each, severity="note") for each in found)


def _reasons(cubins: Cubins | str, *more: str) -> tuple[str, ...]:
    first = cubins if isinstance(cubins, str) else f"The cubins for {cubins.a.arch} differ."
    return (first, *more)
