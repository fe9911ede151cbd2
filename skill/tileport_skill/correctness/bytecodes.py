"""Is every bytecode that the port handed to the assembler one that was compared with the reference? Needs no GPU.

A dump of another specialisation proves nothing: what counts is what the recorder caught on the way to `tileiras`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.correctness.decide import Problem, idle
from tileport_skill.correctness.records import Evidence, entry_of
from tileport_skill.errors import RequestError
from tileport_skill.tileir.assemble import Refused, assemble, disassemble
from tileport_skill.tileir.encode import encode
from tileport_skill.tileir.parse import ParseError, parse

SYMBOL = "kernel_entry"
_ENTRY = re.compile(r"^\s*entry @([\w$.]+)", re.MULTILINE)
_ASSUME = re.compile(r"\s*(%[\w$.]+) = assume .*?(%[\w$.]+) : ")
_HINTS = re.compile(r" optimization_hints=<.*?>(?= [{:]|$)")
_NAME = re.compile(r"%[\w$.]+")


def unproved(evidence: Evidence, folder: Path, arch: str, judged: Collection[str]) -> tuple[Problem, ...]:
    """Bytecodes of the port that equal nothing the reference compiled, and entries that ran without any.

    `folder` is the evidence's `bytecode`; `judged` are hashes of bytecodes that were found equal before.
    """
    found: list[Problem] = []
    recorded: set[str] = set()
    references = _References(folder / "reference", arch)
    for digest in evidence.port.bytecodes:
        kernel = _kernel(folder / "port" / f"{digest}.tileirbc")
        recorded.add(entry_of(kernel.symbol))
        if digest not in judged and not references.have(kernel):
            text = f"{entry_of(kernel.symbol)} ran from bytecode {digest[:12]}, a kernel the reference never compiled."
            found.append(Problem(check="bytecode", text=text))
    launched = {entry_of(work.name) for seen in evidence.port.observations for work in seen.work}
    launched |= {entry_of(name) for run in evidence.port.tests for name in (*run.kernels, *run.other_kernels)}
    found += [
        Problem(check="bytecode", text=f"{entry} ran, but no bytecode of it went through the assembler.")
        for entry in sorted(launched & set(evidence.job.entries) - recorded)
    ]
    return tuple(found)


def outbid(evidence: Evidence, folder: Path) -> tuple[str, ...]:
    """Entries that never ran because a tuner liked another better: it had them compiled, so they are judged as the
    rest is. Of a run without tuning there are none."""
    found = idle(evidence)
    if not found or not evidence.job.tuned:
        return ()
    recorded = {entry_of(_kernel(folder / "port" / f"{digest}.tileirbc").symbol) for digest in evidence.port.bytecodes}
    return tuple(entry for entry in found if entry in recorded)


class _References:
    """The reference's kernels, stripped of what a launcher adds: promises about arguments, and hints.

    Both launchers derive what they promise (`assume`) from each call's own arguments, in different steps, and a promise
    that is not kept shows when the misaligned calls run; hints change speed alone. What is left is the kernel, and the
    same cubin of it from the same `tileiras` is the same kernel.
    """

    def __init__(self, folder: Path, arch: str) -> None:
        self._arch = arch
        kernels = dict.fromkeys(kernel.text for path in sorted(folder.glob("*")) if (kernel := _kernel(path)).text)
        self._left = list(kernels)
        self._texts, self._images = set(kernels), set[bytes]()

    def have(self, kernel: _Kernel) -> bool:
        """Whether the reference compiled this kernel too; assembles no more of it than the answer takes."""
        if kernel.text in self._texts:
            return True
        image = _image(kernel.text, self._arch)
        while image is not None and image not in self._images and self._left:
            made = _image(self._left.pop(), self._arch)
            if made is not None:
                self._images.add(made)
        return image in self._images


@dataclass(frozen=True, slots=True)
class _Kernel:
    symbol: str
    text: str
    """The kernel's text under one symbol, stripped; empty where it could not be read, and then `symbol` says why."""


def _kernel(path: Path) -> _Kernel:
    text = disassemble(path.read_bytes())
    if isinstance(text, Refused):
        return _Kernel(text.reason, "")
    names = _ENTRY.findall(text)
    if len(names) != 1:
        return _Kernel(f"{len(names)} entries", "")
    return _Kernel(names[0], stripped(text.replace(f"@{names[0]}(", f"@{SYMBOL}(")))


def stripped(text: str) -> str:
    """Text of Tile IR without `assume` operations and without optimisation hints."""
    sources: dict[str, str] = {}
    kept = []
    for line in text.splitlines():
        found = _ASSUME.match(line)
        if found:
            sources[found[1]] = sources.get(found[2], found[2])
        else:
            kept.append(_HINTS.sub("", line))
    return _NAME.sub(lambda name: sources.get(name[0], name[0]), "\n".join(kept)) + "\n"


def _image(text: str, arch: str) -> bytes | None:
    try:
        cubin = assemble(encode(parse(text)), arch)
    except (ParseError, RequestError):
        return None
    return None if isinstance(cubin, Refused) else cubin.image
