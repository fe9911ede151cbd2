"""Are two kernels the same? A ladder of checks, cheapest first; the first that decides answers.

Nothing here believes a name or a comment: every answer rests on bytes that are compared, or says `Unknown`.
"""

from __future__ import annotations

import re

from tileport_skill.tileir.assemble import Cubin, Refused, assemble, disassemble, toolchain_version
from tileport_skill.tileir.verdicts import Different, Equal, Proof, Unknown, Verdict

__all__ = ["Different", "Equal", "Unknown", "Verdict", "compare"]

_ENTRY = re.compile(r"^entry @([\w$.]+)\(", re.MULTILINE)


def compare(a: bytes, b: bytes, arch: str) -> Verdict:
    """Compares the kernels of two bytecode files, the reference `a` and the port `b`, on `arch`.

    The sides must share their one entry symbol, for it is part of the cubin: export both under one name.
    """
    texts = []
    for side, bytecode in (("first", a), ("second", b)):
        text = disassemble(bytecode)
        if isinstance(text, Refused):
            return Unknown(reasons=(f"The {side} input is no Tile IR bytecode: {text.reason}",))
        texts.append(text)
    unlike = _entries_unlike(*texts)
    if unlike:
        return Unknown(reasons=(unlike,))
    return _same_cubin(a, b, arch)


def _entries_unlike(a: str, b: str) -> str | None:
    ours, theirs = _ENTRY.findall(a), _ENTRY.findall(b)
    for side, entries in (("first", ours), ("second", theirs)):
        if len(entries) != 1:
            names = ", ".join(entries) or "none"
            return f"The {side} input must hold exactly one entry; it holds {len(entries)} ({names})."
    if ours != theirs:
        return (
            f"The entry symbols differ, {ours[0]} and {theirs[0]}, and they are part of the cubin. "
            "Export both sides under one symbol."
        )
    return None


def _same_cubin(a: bytes, b: bytes, arch: str) -> Verdict:
    """Whole files only: device code alone is the same for `A@B` and `B@A`, which differ in the host part."""
    cubins = []
    for side, bytecode in (("first", a), ("second", b)):
        cubin = assemble(bytecode, arch)
        if isinstance(cubin, Refused):
            return Unknown(reasons=(f"tileiras refused the {side} input for {arch}: {cubin.reason}",))
        cubins.append(cubin)
    ours, theirs = cubins
    if ours.image != theirs.image:
        return Unknown(reasons=(f"The cubins for {arch} differ, which by itself means nothing.",))
    return Equal(proof=_cubin_proof(ours))


def _cubin_proof(cubin: Cubin) -> Proof:
    return Proof(
        rung="same cubin",
        text=f"Both sides give the same {len(cubin.image)} bytes of cubin for {cubin.arch}.",
        arch=cubin.arch,
        compiler=f"tileiras {toolchain_version()}",
        cubin_sha256=cubin.sha256,
    )
