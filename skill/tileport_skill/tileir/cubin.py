"""What can be read off a cubin without running it: how many instructions, and what the compiler remarked."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tileport_skill.tileir.assemble import Cubin
from tileport_skill.tileir.verdicts import Difference, Witness

_INSTRUCTION = 16
_NOP = 0x918
_LOCAL = (0x387, 0x983)
"""STL and LDL: to and from memory of one thread, where registers go that do not fit."""
_REGISTERS = 0x2F
_THREADS = 0x10
"""Attributes of `.nv.info`: registers of a thread (EIATTR_REGCOUNT), threads of a block (EIATTR_REQNTID)."""
_EMPTY = 8
"""A section of memory that is not in the file (SHT_NOBITS)."""
_SIZED = 4
"""The format of an attribute that says its size; the others have four bytes in all."""
_REMARK = re.compile(r"Remark: +(.*)|Instruction: +(.*)|Shape: +(.*)")


@dataclass(frozen=True, slots=True)
class Cubins:
    """Both sides of a comparison."""

    a: Cubin
    b: Cubin

    @property
    def same(self) -> bool:
        return self.a.image == self.b.image


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a kernel asks of the hardware."""

    instructions: int
    spills: int
    """Instructions that move registers to and from local memory."""
    shared: int
    """Bytes of shared memory a block has, its reserved part apart."""
    registers: int
    threads: int
    """Of a block."""


def needs(image: bytes) -> Needs:
    """Read off the device part of a cubin; `struct.error` or `ValueError` for bytes that are none."""
    sections = _sections(image)
    code = [inside for name, inside, _ in sections if name.startswith(".text.")]
    words = [word for one in code for word in _opcodes(one)]
    attributes = dict(_attributes(sections))
    return Needs(
        instructions=sum(word != _NOP for word in words),
        spills=sum(word in _LOCAL for word in words),
        shared=sum(size for name, _, size in sections if name.startswith(".nv.shared.") and ".reserved" not in name),
        registers=attributes.get(_REGISTERS, 0),
        threads=attributes.get(_THREADS, 0),
    )


def _attributes(sections: list[tuple[str, bytes, int]]) -> Iterator[tuple[int, int]]:
    """The two attributes wanted, as numbers."""
    for name, inside, _ in sections:
        if not name.startswith(".nv.info"):
            continue
        at = 0
        while at + 4 <= len(inside):
            kind, attribute, size = struct.unpack_from("<BBH", inside, at)
            at += 4
            if kind != _SIZED:
                continue
            value = inside[at : at + size]
            at += size
            if attribute == _REGISTERS and size == 8:
                yield attribute, struct.unpack("<II", value)[1]
            if attribute == _THREADS and size == 12:
                x, y, z = struct.unpack("<III", value)
                yield attribute, x * y * z


def speed_witness(cubins: Cubins) -> Witness:
    """How far the two are apart in what a compiler shows of speed."""
    return Witness(
        kind="speed",
        inputs="any",
        where=f"instructions and remarks for {cubins.a.arch}",
        a=_speed(cubins.a),
        b=_speed(cubins.b),
    )


def measured(cubins: Cubins | str) -> list[Difference]:
    """The same as a difference of its own, for verdicts that rest on something else; none without two cubins."""
    if isinstance(cubins, str) or _speed(cubins.a) == _speed(cubins.b):
        return []
    text = f"the cubins differ: {_speed(cubins.a)} and {_speed(cubins.b)}"
    return [Difference(kind="instructions", severity="note", text=text)]


def _speed(cubin: Cubin) -> str:
    said = "; ".join(f"{count} × {remark}" for remark, count in sorted(remarks(cubin).items()))
    return f"{instruction_count(cubin)} instructions; {said or 'no remarks'}"


def instruction_count(cubin: Cubin) -> int:
    """Device instructions of the whole file, without the NOPs that fill it up."""
    return needs(cubin.image).instructions


def remarks(cubin: Cubin) -> Counter[str]:
    """How often the compiler remarked what, such as `TMA Load instruction '[64, 64]'`."""
    found: Counter[str] = Counter()
    for document in cubin.remarks.split("--- !")[1:]:
        said = [next(filter(None, groups)) for groups in _REMARK.findall(document)]
        found[" ".join(said)] += 1
    return found


def _opcodes(code: bytes) -> Iterator[int]:
    for at in range(0, len(code) - 1, _INSTRUCTION):
        yield struct.unpack_from("<H", code, at)[0] & 0xFFF


def _sections(image: bytes) -> list[tuple[str, bytes, int]]:
    """Names, contents and sizes of the ELF file's sections; one without contents has a size all the same."""
    (at,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", image, at + index * size) for index in range(count)]
    names = image[headers[names_at][4] :]
    return [
        (
            names[name : names.index(b"\0", name)].decode(),
            b"" if kind == _EMPTY else image[offset : offset + length],
            length,
        )
        for name, kind, _, _, offset, length in headers
    ]
