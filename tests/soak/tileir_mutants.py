# ruff: noqa: E501 - kernels and patterns are read more easily on one line
"""Mutants of our own kernels and pairs equal by construction, judged by the ladder: `python tests/soak/tileir_mutants.py`.

A mutant counts as different when it differs on launches made by hand, or by arithmetic (a stronger promise);
the ladder finds its own inputs. One that no such launch tells apart is not counted, but is shown. What does not
assemble does not count. Pairs equal by construction are made by edits that mean nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from tileir_kernels import KERNELS, exported, launches

from tileport_skill.errors import RequestError
from tileport_skill.tileir.assemble import Cubin, Refused, assemble, disassemble
from tileport_skill.tileir.encode import encode
from tileport_skill.tileir.interpret import Limits, TooLong, run
from tileport_skill.tileir.ladder import Different, Equal, Source, compare_sources
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.search import Budget, part

Edit = Callable[[list[str], int, random.Random], list[str] | None]
"""Changes the line at a place of a kernel's text; None if there is nothing to change there."""

V = r"%[\w#]+"


def sub(pattern: str, *replacements: str) -> Edit:
    """Replaces what `pattern` finds in a line by one of `replacements`."""

    def edit(lines, at, chance):
        new, count = re.subn(pattern, chance.choice(replacements), lines[at], count=1)
        return [*lines[:at], new, *lines[at + 1 :]] if count and new != lines[at] else None

    return edit


def insert_before(pattern: str, made: Callable[[re.Match], tuple[list[str], str]]) -> Edit:
    """Puts new lines before a line that `pattern` finds, and changes the line to use them."""

    def edit(lines, at, chance):
        found = re.search(pattern, lines[at])
        if not found:
            return None
        new, changed = made(found)
        return [*lines[:at], *("  " + line for line in new), changed, *lines[at + 1 :]]

    return edit


def everywhere(pattern: str, replacement: str) -> Edit:
    """As `sub`, in all lines at once; only offered at the first line it applies to."""

    def edit(lines, at, chance):
        if any(re.search(pattern, line) for line in lines[:at]) or not re.search(pattern, lines[at]):
            return None
        return [re.sub(pattern, replacement, line) for line in lines]

    return edit


def after_result(pattern: str, new: Callable[[str], list[str]]) -> Edit:
    """Puts lines behind an operation that redefine its result as `%mutated` for all that follows in the block."""

    def edit(lines, at, chance):
        found = re.search(rf"^( *)({V}) = {pattern}", lines[at])
        if not found:
            return None
        rest = [re.sub(re.escape(found[2]) + r"(?![\w#])", "%mutated", line) for line in lines[at + 1 :]]
        return [*lines[: at + 1], *(found[1] + line for line in new(found[2])), *rest]

    return edit


def other_operand(lines: list[str], at: int, chance: random.Random) -> list[str] | None:
    """Uses another value of the same type, defined before."""
    found = re.search(rf"= (addf|mulf|subf|maxf|minf|addi|muli|subi|divf) ({V}), ({V}).*: (tile<\S+>)$", lines[at])
    if not found:
        return None
    others = [
        m[1] for line in lines[:at]
        if (m := re.match(rf" *({V}) = (?!assume).* (tile<\S+>)$", line)) and m[2] == found[4]
    ]  # fmt: skip
    others = [name for name in others if name not in (found[2], found[3])]
    if not others:
        return None
    return [*lines[:at], lines[at].replace(found[3], chance.choice(others), 1), *lines[at + 1 :]]


def dropped_store(lines: list[str], at: int, chance: random.Random) -> list[str] | None:
    found = re.match(rf" *({V}) = store_", lines[at])
    if not found or any(re.search(re.escape(found[1]) + r"(?![\w#])", line) for line in lines[at + 1 :]):
        return None
    return [*lines[:at], *lines[at + 1 :]]


def dropped_mask(lines: list[str], at: int, chance: random.Random) -> list[str] | None:
    new, count = re.subn(rf"(load_ptr_tko \w+ {V}), {V}, {V}", r"\1", lines[at])
    if count:
        new = re.sub(r"(: tile<[^,]*>), tile<[^,]*>, tile<[^,]*> ->", r"\1 ->", new)
    else:
        new, count = re.subn(rf"(store_ptr_tko \w+ {V}, {V}), {V}", r"\1", lines[at])
        new = re.sub(r"(: tile<[^,]*>, tile<[^,]*>), tile<[^,]*> ->", r"\1 ->", new)
    return [*lines[:at], new, *lines[at + 1 :]] if count else None


def number(name: str, value: int, like: str = "tile<i32>") -> str:
    return f"{name} = constant <i32: {value}> : {like}"


def bound(which: int, by: int) -> Edit:
    """Moves a loop's start (0), end (1) or step (2)."""

    def made(found: re.Match) -> tuple[list[str], str]:
        old = found[2 + which]
        new = [number("%by", by), f"%moved = addi {old}, %by : tile<i32>"]
        places = [found[2], found[3], found[4]]
        places[which] = "%moved"
        line = f"{found[1]}({places[0]} to {places[1]}, step {places[2]}){found[5]}"
        return new, line

    return insert_before(rf"^(.* in )\(({V}) to ({V}), step ({V})\)(.*)$", made)


_VIEW_INDEX = rf"^(.*(?:load|store)_view_tko.*\[)({V}), ({V})(\].*)$"

MUTANTS: dict[str, Edit] = {
    "swapped operands": sub(rf"(= (?:subf|divf|subi|divi|remi) )({V}), ({V})", r"\1\3, \2"),
    "swapped comparison": sub(rf"(= cmp[if] (?:less|greater)\w* (?:ordered |unordered )?)({V}), ({V})", r"\1\3, \2"),
    "swapped arms": sub(rf"(= select {V}, )({V}), ({V})", r"\1\3, \2"),
    "wrong axis": sub(r"dim=1 (.*tile<(\d+)x\2x)", r"dim=0 \1"),
    "wrong permutation": sub(r"\[1, 0\] : tile<(\d+)x\1x", r"[0, 1] : tile<\1x\1x"),
    "wrong identity": sub(r"identities=\[(?:0.000000e\+00|0xFF800000)", "identities=[2.000000e+00"),
    "wrong combiner": sub(r"= (addf|maxf) (%reduce_lhs|%arg\d+), ", r"= mulf \2, ", r"= minf \2, "),
    "dropped mask": dropped_mask,
    "padding value": everywhere(r"padding_value = (zero|neg_inf)", "padding_value = pos_inf"),
    "padding lost": everywhere(r"padding_value = \w+, ", ""),
    "loop start": bound(0, 1),
    "loop end": bound(1, -1),
    "loop end too far": bound(1, 1),
    "loop step": bound(2, 1),
    "index swap": sub(_VIEW_INDEX, r"\1\3, \2\4"),
    "index off by one": insert_before(
        _VIEW_INDEX,
        lambda f: ([number("%by", 1), f"%moved = addi {f[2]}, %by : tile<i32>"], f"{f[1]}%moved, {f[3]}{f[4]}"),
    ),
    "stride and size swap": sub(rf"(shape = \[){V}, ({V})(\], strides = \[)({V})", r"\1\4, \2\3\2"),
    "another array": sub(r"(make_tensor_view )%\w+,", r"\1%arg0,", r"\1%arg5,"),
    "accumulator downgrade": after_result(
        r"mmaf .*tile<16x16xf32>$",
        lambda r: [f"%half = ftof {r}  : tile<16x16xf32> -> tile<16x16xbf16>",
                   "%mutated = ftof %half  : tile<16x16xbf16> -> tile<16x16xf32>"],
    ),
    "missing precision": after_result(
        r"(?:addf|mulf|divf|subf|exp2?|negf) .*: tile<1x32xf32>$",
        lambda r: [f"%half = ftof {r}  : tile<1x32xf32> -> tile<1x32xbf16>",
                   "%mutated = ftof %half  : tile<1x32xbf16> -> tile<1x32xf32>"],
    ),
    "rounding": sub(r"(= (?:addf|mulf|subf|divf) .*?)  : (tile<.*xf32>)$", r"\1 rounding<zero> : \2"),
    "flush to zero": sub(r"(= (?:addf|mulf|subf) .*?)  : (tile<.*xf32>)$", r"\1  flush_to_zero : \2"),
    "wrong predicate": sub(r"(cmp[if] \w+?_than) ", r"\1_or_equal "),
    "inverted predicate": sub(r"cmp([if]) less_than ", r"cmp\1 greater_than "),
    "signedness": sub(r"(= (?:divi|remi|maxi|mini|shri) .*)signed", r"\1unsigned"),
    "wrong operation": sub(r"= (addf|mulf) ", "= subf ", "= maxf "),
    "wrong integer operation": sub(rf"= (addi|muli) ({V}, {V})", r"= subi \2", r"= xori \2"),
    "wrong function": sub(r"= (exp2?|rsqrt) ", "= log2 ", "= sqrt "),
    "wrong extreme": sub(r"= maxf ", "= minf "),
    "constant": sub(r"<f32: (?!0.0)[-\d.e+]+>", "<f32: 1.250000e+00>"),
    "integer constant": sub(r"<i32: ([1-9]\d*)>", r"<i32: 1\1>"),
    "missing negation": sub(rf"= negf ({V}) :", r"= absf \1 :"),
    "block number": everywhere(r"%blockId_x(?=[\],])(?!.*get_tile)", "%blockId_y"),
    "other operand": other_operand,
    "dropped store": dropped_store,
    "carried values crossed": sub(
        rf"continue ((?:{V}, )*)({V}), ({V})((?:, {V})*) : (.*)$", r"continue \1\3, \2\4 : \5"
    ),
    "atomic mode": sub(r"(atomic_rmw_tko .*), add,", r"\1, max,", r"\1, xchg,"),
    "scan direction": sub("reverse=false", "reverse=true"),
    "branch condition": insert_before(
        rf"^( *)if ({V}) (.*)$",
        lambda f: (["%true_m = constant <i1: true> : tile<i1>", f"%flip = xori {f[2]}, %true_m : tile<i1>"],
                   f"{f[1]}if %flip {f[3]}"),
    ),
    "stronger promise": sub(r"(assume div_by<)(\d+)(>, %arg\d+ )", r"\g<1>1024\3"),
    "token lost": sub(rf" token ?= ?{V}", ""),
}  # fmt: skip

BY_ARITHMETIC = {"stronger promise"}
"""Different whatever a run says: an argument that the original takes and the mutant must not be given."""

SPEED: dict[str, Edit] = {
    "weaker promise": sub(r"(assume div_by<)(\d+)(>, %arg\d+ )", r"\g<1>2\3"),
}


def renamed(text: str, chance: random.Random) -> str:
    names = sorted(set(re.findall(r"%\w+", text)))
    fresh = [f"%v{n}" for n in range(len(names))]
    chance.shuffle(fresh)
    to = dict(zip(names, fresh, strict=True))
    return re.sub(r"%\w+", lambda m: to[m[0]], text)


def commuted(text: str, chance: random.Random) -> str:
    return re.sub(
        rf"(= (?:addi|addf|muli|mulf|andi|ori|maxf) )({V}), ({V})",
        lambda m: f"{m[1]}{m[3]}, {m[2]}" if chance.random() < 0.7 else m[0], text,
    )  # fmt: skip


def constants_repeated(text: str, chance: random.Random) -> str:
    out, count = [], 0
    constants = dict(re.findall(rf"^ *({V}) = (constant .*)$", text, re.M))
    for line in text.splitlines():
        for name in re.findall(V, line.partition(" = ")[2]):
            if name in constants and chance.random() < 0.5 and " in (" not in line and "yield" not in line:
                count += 1
                out.append(f"{line[: len(line) - len(line.lstrip())]}%again{count} = {constants[name]}")
                head, equals, tail = line.partition(" = ")
                line = head + equals + re.sub(re.escape(name) + r"(?![\w#])", f"%again{count}", tail, count=1)
        out.append(line)
    return "\n".join(out) + "\n"


def dead_code(text: str, chance: random.Random) -> str:
    lines = text.splitlines()
    for count in range(3):
        at = chance.randrange(1, len(lines) - 1)
        if lines[at].lstrip().startswith(("(", "}")) or lines[at - 1].endswith(" ") or "return" in lines[at - 1]:
            continue
        lines[at:at] = [f"  %dead{count} = constant <i32: {count + 5}> : tile<i32>",
                        f"  %dead_{count} = muli %dead{count}, %dead{count} : tile<i32>"]  # fmt: skip
    return "\n".join(lines) + "\n"


def own_tokens(text: str, chance: random.Random) -> str:
    """Every use of the one token root gets a root of its own."""
    root = re.search(rf"({V}) = make_token : token", text)
    if not root:
        return text
    out, count = [], 0
    for line in text.splitlines():
        if re.search(rf"token ?= ?{re.escape(root[1])}(?![\w#])", line) and "iter_values" not in line:
            count += 1
            out.append(f"  %root{count} = make_token : token")
            line = re.sub(rf"(token ?= ?){re.escape(root[1])}(?![\w#])", rf"\1%root{count}", line)
        out.append(line)
    return "\n".join(out) + "\n"


def reordered(text: str, chance: random.Random) -> str:
    """Neighbouring pure operations change places where neither uses the other."""
    lines = text.splitlines()
    fixed = re.compile(r"_tko|^ *(for|if|loop|\}|\(|return|yield|continue|entry)|reduce|scan|= (for|if|loop) ")
    for at in list(range(1, len(lines) - 2)) * 2:
        a, b = lines[at], lines[at + 1]
        if fixed.search(a) or fixed.search(b) or chance.random() < 0.3:
            continue
        made = re.findall(V, a.partition(" = ")[0])
        if not any(name in re.findall(V, b.partition(" = ")[2]) for name in made):
            lines[at], lines[at + 1] = b, a
    return "\n".join(lines) + "\n"


def refolded(text: str, chance: random.Random) -> str:
    """Adds zeros and factors of one to integers, and turns comparisons round."""
    out = []
    for count, line in enumerate(text.splitlines()):
        found = re.match(rf"^( *)({V}) = (addi|muli) ({V}), ({V}) : (tile<\S+>)$", line)
        turned = re.sub(rf"cmpi less_than ({V}), ({V})", r"cmpi greater_than \2, \1", line)
        if found and chance.random() < 0.6 and "i64" not in found[6]:
            pad = found[1]
            out.append(f"{pad}%zero{count} = constant <{found[6][5:-1].split('x')[-1]}: 0> : {found[6]}")
            out.append(f"{pad}%plus{count} = addi {found[4]}, %zero{count} : {found[6]}")
            line = f"{pad}{found[2]} = {found[3]} %plus{count}, {found[5]} : {found[6]}"
        elif turned != line and chance.random() < 0.6:
            line = turned
        out.append(line)
    return "\n".join(out) + "\n"


SAME: dict[str, Callable[[str, random.Random], str]] = {
    "renamed": renamed,
    "commuted": commuted,
    "constants repeated": constants_repeated,
    "dead code": dead_code,
    "own token roots": own_tokens,
    "reordered": reordered,
    "refolded": refolded,
}


@dataclass
class Judged:
    """One pair and what was said of it."""

    kernel: str
    kind: str
    label: str
    """`different`, `speed`, `equal`, or `unlabelled`."""
    arch: str | None
    same_file: bool
    """Whether both sides give the same cubin: then the compiler at hand takes the two for one."""
    verdict: str
    by: str
    counts: str
    """What comparing operation counts by name says: `same` or `unlike`."""
    seconds: float


def mutants(name: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """All mutants of one kernel: kind and text."""
    lines = disassemble(exported(name)).splitlines()
    for kind, edit in {**MUTANTS, **SPEED}.items():
        seen = set()
        for at in range(len(lines)):
            changed = edit(lines, at, chance)
            if changed is not None and (text := "\n".join(changed) + "\n") not in seen:
                seen.add(text)
                yield kind, text


def valid(text: str, cubins: bool) -> Source | None:
    """The mutant as the real tools see it, or None if they refuse it; without `cubins` the verifier alone."""
    try:
        bytecode = encode(parse(text))
    except (RequestError, AssertionError, KeyError, ValueError):
        return None
    said = disassemble(bytecode)
    if isinstance(said, Refused) or (cubins and not isinstance(assemble(bytecode, "sm_90"), Cubin)):
        return None
    return Source(text=said, bytecode=bytecode)


def label(name: str, kind: str, original: Source, mutant: Source) -> str:
    """What launches made by hand, or arithmetic, say of a mutant."""
    if kind in BY_ARITHMETIC:
        return "different"
    a, b = parse(original.text).entries[0], parse(mutant.text).entries[0]
    for launch in launches(name, 6):
        try:
            theirs = run(b, launch, Limits(findings=1, operations=50_000))
        except (TooLong, Unsupported):
            return "unlabelled"
        if part(run(a, launch), theirs, "") is not None:
            return "different"
    return "speed" if kind in SPEED else "unlabelled"


def judge(
    name: str, kind: str, label_: str, a: Source, b: Source, seconds: float, arch: str | None = "sm_90"
) -> Judged:
    same_file = False
    if arch is not None:
        same_file = assemble(a.bytecode, arch).image == assemble(b.bytecode, arch).image
        assemble.cache_clear()
    began = time.perf_counter()
    verdict = compare_sources(a, b, arch, Budget(seconds=seconds))
    took = time.perf_counter() - began
    if isinstance(verdict, Equal):
        by = verdict.proof.rung
    else:
        by = verdict.witness.kind if isinstance(verdict, Different) else ""
    counts = [Counter(re.findall(r"^ *(?:[^=]*= )?(\w+)", text, re.M)) for text in (a.text, b.text)]
    counted = "same" if counts[0] == counts[1] else "unlike"
    return Judged(name, kind, label_, arch, same_file, verdict.verdict, by, counted, took)


def pairs(most: int, seed: int, cubins: bool) -> Iterator[tuple[str, str, str, Source, Source]]:
    """Mutants, as evenly over kinds and kernels as they come, labelled."""
    chance = random.Random(seed)
    every = [(name, kind, text) for name in KERNELS for kind, text in mutants(name, chance)]
    chance.shuffle(every)
    taken: Counter[str] = Counter()
    every.sort(key=lambda item: (taken.update([item[1]]), taken[item[1]])[1])
    found = 0
    for name, kind, text in every:
        if found >= most:
            return
        original = Source(text=disassemble(exported(name)), bytecode=exported(name))
        mutant = valid(text, cubins)
        if mutant is None or mutant.text == original.text:
            continue
        found += 1
        yield name, kind, label(name, kind, original, mutant), original, mutant


def same_pairs(most: int, seed: int, cubins: bool) -> Iterator[tuple[str, str, str, Source, Source]]:
    """Pairs equal by construction: one or several edits that mean nothing."""
    chance = random.Random(seed)
    names = list(KERNELS)
    for number_ in range(most):
        name = names[number_ % len(names)]
        kinds = chance.sample(list(SAME), chance.choice([1, 1, 2, 3]))
        text = disassemble(exported(name))
        for kind in sorted(kinds, key=lambda k: k == "renamed"):
            text = SAME[kind](text, chance)
        source = valid(text, cubins)
        if source is None:
            raise AssertionError(f"{kinds} of {name} do not assemble:\n{text}")
        original = Source(text=disassemble(exported(name)), bytecode=exported(name))
        yield name, " + ".join(sorted(kinds)), "equal", original, source


def wrong(judged: list[Judged]) -> list[Judged]:
    """The verdicts that must never be: equal though different, different though equal."""
    return [
        j for j in judged
        if (j.label == "different" and j.verdict == "equal" and not (j.arch and j.same_file))
        or (j.label == "equal" and j.verdict == "different")
        or (j.label == "speed" and j.verdict == "different" and j.by != "speed")
    ]  # fmt: skip


def report(judged: list[Judged]) -> str:
    """The figures, and per kind who was killed, survived or stayed unknown."""
    lines = []
    for arch in ("sm_90", None):
        some = [j for j in judged if j.arch == arch]
        if some:
            lines.append(f"--- {'with cubins for ' + arch if arch else 'without cubins'}")
            lines += _report(some)
    lines.append(f"wrong verdicts: {len(wrong(judged))}")
    return "\n".join(lines)


def _report(judged: list[Judged]) -> list[str]:
    lines = []
    for label_ in ("different", "equal", "speed", "unlabelled"):
        some = [j for j in judged if j.label == label_]
        if some:
            verdicts = Counter((j.verdict, j.by) for j in some)
            said = ", ".join(f"{v} ({by or 'nothing decided'}) {n}" for (v, by), n in verdicts.most_common())
            counted = sum(j.counts == "same" for j in some)
            lines.append(f"{label_}: {len(some)} pairs: {said}; counts by name call {counted} of them the same")
    files = [j for j in judged if j.label == "different" and j.same_file]
    lines.append(f"of the different, {len(files)} give the same cubin: {sorted({j.kind for j in files})}")
    different = [j for j in judged if j.label == "different" and not j.same_file]
    kinds = Counter(j.kind for j in different)
    lines.append(f"{len(kinds)} kinds, {len({j.kernel for j in different})} kernels")
    for kind, count in sorted(kinds.items()):
        left = Counter(j.verdict for j in different if j.kind == kind)
        lines.append(
            f"  {kind}: {left['different']} of {count} killed, {left['equal']} equal, {left['unknown']} unknown"
        )
    times = sorted(j.seconds for j in judged)
    lines.append(f"seconds: median {times[len(times) // 2]:.2f}, 90th percentile {times[len(times) * 9 // 10]:.2f}, "
                 f"worst {times[-1]:.2f}")  # fmt: skip
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=520)
    parser.add_argument("--same", type=int, default=220)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--no-cubins", action="store_true", help="leave the first rung out, and tileiras with it")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    judged = []
    archs = (None,) if options.no_cubins else ("sm_90", None)
    cubins = not options.no_cubins
    for source in (
        pairs(options.mutants, options.seed, cubins),
        same_pairs(options.same, options.seed, cubins),
    ):
        for name, kind, label_, a, b in source:
            for arch in archs:
                judged.append(judge(name, kind, label_, a, b, options.seconds, arch))
                if wrong(judged[-1:]):
                    print(f"WRONG: {judged[-1]}\n{b.text}", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(j) for j in judged], indent=1))
    print(report(judged))
    return 1 if wrong(judged) else 0


if __name__ == "__main__":
    raise SystemExit(main())
