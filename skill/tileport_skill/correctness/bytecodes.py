"""Is every bytecode that the port handed to the assembler one that was compared with the reference? Needs no GPU.

A dump of another specialisation proves nothing: what counts is what the recorder caught on the way to `tileiras`.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

from tileport_skill.correctness.decide import Problem, idle
from tileport_skill.correctness.records import Evidence, entry_of
from tileport_skill.errors import RequestError
from tileport_skill.tileir.assemble import Refused, assemble
from tileport_skill.tileir.bare import Bare, bare
from tileport_skill.tileir.encode import encode
from tileport_skill.tileir.ladder import Setting, Source, compare_in
from tileport_skill.tileir.parse import ParseError, parse
from tileport_skill.tileir.search import Budget
from tileport_skill.tileir.verdicts import Equal

_TYPE = re.compile(r": (tile<[^%]*>)")
_ACCESS = re.compile(r"\b(load_\w+|store_\w+|mma\w)\b.* : (.*)$", re.MULTILINE)
_TILE = re.compile(r"tile<[\w]*>")


def unproved(evidence: Evidence, folder: Path, arch: str, judged: AbstractSet[str]) -> tuple[Problem, ...]:
    """Bytecodes of the port that equal nothing the reference compiled, and entries that ran without any.

    `folder` is the evidence's `bytecode`; `judged` are hashes of what was found equal before: of bytecodes, and of
    kernels without their promises, for a launcher promises something else for every odd call.
    """
    found: list[Problem] = []
    recorded: set[str] = set()
    references = _References(folder / "reference", arch)
    for digest in evidence.port.bytecodes:
        kernel = _kernel(folder, digest)
        recorded.add(entry_of(kernel.symbol))
        if judged.isdisjoint((digest, kernel.sha256)) and not references.have(kernel):
            text = f"{entry_of(kernel.symbol)} ran from bytecode {digest[:12]}, a kernel the reference never compiled."
            found.append(Problem(check="bytecode", text=text))
    launched = set(evidence.job.entries) - set(idle(evidence))
    found += [
        Problem(check="bytecode", text=f"{entry} ran, but no bytecode of it went through the assembler.")
        for entry in sorted(launched - recorded)
    ]
    return tuple(found)


def outbid(evidence: Evidence, folder: Path) -> tuple[str, ...]:
    """Entries that never ran because a tuner liked another better: it had them compiled, so they are judged as the
    rest is. Of a run without tuning there are none."""
    found = idle(evidence)
    if not found or not evidence.job.tuned:
        return ()
    recorded = {entry_of(_kernel(folder, digest).symbol) for digest in evidence.port.bytecodes}
    return tuple(entry for entry in found if entry in recorded)


def _kernel(folder: Path, digest: str) -> Bare:
    """One that the recorder caught of the port."""
    return bare((folder / "port" / f"{digest}.tileirbc").read_bytes())


class _References:
    """The reference's kernels, stripped of what a launcher adds: promises about arguments, and hints.

    Both launchers derive what they promise (`assume`) from each call's own arguments, in different steps, and a promise
    that is not kept shows when the misaligned calls run; hints change speed alone. What is left is the kernel. The same
    graph, by the comparer's rules, or the same cubin from the same `tileiras`, is the same kernel.
    """

    def __init__(self, folder: Path, arch: str) -> None:
        self._arch = arch
        kernels = dict.fromkeys(
            kernel.text for path in sorted(folder.glob("*")) if (kernel := bare(path.read_bytes())).text
        )
        self._left = list(kernels)
        self._texts, self._images = set(kernels), set[bytes]()

    def have(self, kernel: Bare) -> bool:
        """Whether the reference compiled this kernel too; assembles no more of it than the answer takes."""
        if kernel.text in self._texts or any(_equal(text, kernel.text) for text in self._texts):
            return True
        image = _image(kernel.text, self._arch)
        while image is not None and image not in self._images and self._left:
            made = _image(self._left.pop(), self._arch)
            if made is not None:
                self._images.add(made)
        return image in self._images


def _equal(reference: str, port: str) -> bool:
    """By graphs alone: neither cubins nor inputs on which the two might differ are looked for."""
    if _accesses(reference) != _accesses(port):
        return False
    setting = Setting(arch=None, budget=Budget(inputs=0, attempts=0, seconds=0, any_speed=True))
    return isinstance(compare_in(Source(text=reference), Source(text=port), setting), Equal)


@cache
def _accesses(text: str) -> tuple[tuple[str, ...], ...]:
    """A kernel's parameters, and which tiles it loads, stores and multiplies: no rule changes these, and most pairs of
    kernels differ in them."""
    moved = sorted((found[1], *_TILE.findall(found[2])) for found in _ACCESS.finditer(text))
    return (tuple(_TYPE.findall(text.partition("{")[0])), *moved)


def _image(text: str, arch: str) -> bytes | None:
    try:
        cubin = assemble(encode(parse(text)), arch)
    except (ParseError, RequestError):
        return None
    return None if isinstance(cubin, Refused) else cubin.image
