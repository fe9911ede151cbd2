"""Mutants of our own kernels and pairs equal by construction, judged by the ladder; `run_mutants.py` reports on them.

A mutant counts as different when it differs on launches made by hand, or by arithmetic (a stronger promise);
the ladder finds its own inputs. One that no such launch tells apart is not counted, but is shown. What does not
assemble does not count. Pairs equal by construction are made by edits that mean nothing.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from tileir_edits import BY_ARITHMETIC, MUTANTS, SPEED
from tileir_kernels import KERNELS, exported, launches
from tileir_same import SAME

from tileport_skill.errors import RequestError
from tileport_skill.tileir.assemble import Cubin, Refused, assemble, disassemble
from tileport_skill.tileir.encode import encode
from tileport_skill.tileir.interpret import Limits, TooLong, run
from tileport_skill.tileir.ladder import Different, Equal, Source, compare_sources
from tileport_skill.tileir.machine import Unsupported
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.search import Budget, part


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
    """Of the ladder, without `tileiras`."""
    assembling: float
    """Of `tileiras`, both sides."""


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
    if isinstance(said, Refused) or (cubins and not isinstance(assembled(bytecode, "sm_90")[0], Cubin)):
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
    same_file, assembling = False, 0.0
    if arch is not None:
        (one, took_a), (two, took_b) = assembled(a.bytecode, arch), assembled(b.bytecode, arch)
        same_file, assembling = one.image == two.image, took_a + took_b
    began = time.perf_counter()
    verdict = compare_sources(a, b, arch, Budget(seconds=seconds))
    took = time.perf_counter() - began
    if isinstance(verdict, Equal):
        by = verdict.proof.rung
    else:
        by = verdict.witness.kind if isinstance(verdict, Different) else ""
    counts = [Counter(re.findall(r"^ *(?:[^=]*= )?(\w+)", text, re.M)) for text in (a.text, b.text)]
    counted = "same" if counts[0] == counts[1] else "unlike"
    return Judged(name, kind, label_, arch, same_file, verdict.verdict, by, counted, took, assembling)


@functools.lru_cache(maxsize=256)
def assembled(bytecode: bytes, arch: str) -> tuple[Cubin | Refused, float]:
    """The cubin, and how long it took to make."""
    began = time.perf_counter()
    made = assemble(bytecode, arch, Budget().assembling)  # as the ladder asks for it, so that it is made once
    return made, time.perf_counter() - began


Pair = tuple[str, str, str, Source, Source]
"""Kernel, kind, label, original and mutant."""


def candidates(seed: int) -> list[tuple[str, str, str]]:
    """Kernel, kind and text of every mutant, as evenly over kinds and kernels as they come."""
    chance = random.Random(seed)
    every = [(name, kind, text) for name in KERNELS for kind, text in mutants(name, chance)]
    chance.shuffle(every)
    taken: Counter[str] = Counter()
    every.sort(key=lambda item: (taken.update([item[1]]), taken[item[1]])[1])
    return every


def made(name: str, kind: str, text: str, cubins: bool) -> Pair | None:
    """The mutant with its label, or None if it is none."""
    original = original_of(name)
    mutant = valid(text, cubins)
    if mutant is None or mutant.text == original.text:
        return None
    return name, kind, label(name, kind, original, mutant), original, mutant


@functools.cache
def original_of(name: str) -> Source:
    return Source(text=disassemble(exported(name)), bytecode=exported(name))


def pairs(most: int, seed: int, cubins: bool) -> Iterator[Pair]:
    """The first `most` mutants that are valid."""
    valid_ones = (pair for item in candidates(seed) if (pair := made(*item, cubins)) is not None)
    return itertools.islice(valid_ones, most)


def same_texts(most: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Kernel, edits and text of pairs equal by construction: one or several edits that mean nothing."""
    chance = random.Random(seed)
    names = list(KERNELS)
    for number_ in range(most):
        name = names[number_ % len(names)]
        kinds = chance.sample(list(SAME), chance.choice([1, 1, 2, 3]))
        text = original_of(name).text
        for kind in sorted(kinds, key=lambda k: k == "renamed"):
            text = SAME[kind](text, chance)
        yield name, " + ".join(sorted(kinds)), text


def made_same(name: str, kinds: str, text: str, cubins: bool) -> Pair:
    source = valid(text, cubins)
    if source is None:
        raise AssertionError(f"{kinds} of {name} do not assemble:\n{text}")
    return name, kinds, "equal", original_of(name), source


def same_pairs(most: int, seed: int, cubins: bool) -> Iterator[Pair]:
    return (made_same(*item, cubins) for item in same_texts(most, seed))


def wrong(judged: list[Judged]) -> list[Judged]:
    """The verdicts that must never be: equal though different, different though equal."""
    return [
        j for j in judged
        if (j.label == "different" and j.verdict == "equal" and not (j.arch and j.same_file))
        or (j.label == "equal" and j.verdict == "different")
        or (j.label == "speed" and j.verdict == "different" and j.by != "speed")
    ]  # fmt: skip
