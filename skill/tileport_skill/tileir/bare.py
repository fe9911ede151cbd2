"""A kernel without what a launcher adds to it: promises about arguments, hints, and the name of its entry."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from tileport_skill.tileir.assemble import Refused, disassemble

SYMBOL = "kernel_entry"
_ENTRY = re.compile(r"^\s*entry @([\w$.]+)", re.MULTILINE)
_ASSUME = re.compile(r"\s*(%[\w$.]+) = assume .*?(%[\w$.]+) : ")
_HINTS = re.compile(r" optimization_hints=<.*?>(?= [{:]|$)")
_NAME = re.compile(r"%[\w$.]+")


@dataclass(frozen=True, slots=True)
class Bare:
    """One kernel."""

    symbol: str
    text: str
    """Under `SYMBOL`, stripped; empty where it could not be read, and then `symbol` says why."""

    @property
    def sha256(self) -> str:
        """The same for two bytecodes of one kernel, whatever each promises."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def bare(bytecode: bytes) -> Bare:
    """Of a module with one entry."""
    text = disassemble(bytecode)
    if isinstance(text, Refused):
        return Bare(text.reason, "")
    names = _ENTRY.findall(text)
    if len(names) != 1:
        return Bare(f"{len(names)} entries", "")
    return Bare(names[0], stripped(text.replace(f"@{names[0]}(", f"@{SYMBOL}(")))


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
