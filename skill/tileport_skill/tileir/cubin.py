"""What can be read off a cubin without running it: how many instructions, and what the compiler remarked."""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass

from tileport_skill.tileir.assemble import Cubin
from tileport_skill.tileir.verdicts import Difference, Witness

_INSTRUCTION = 16
_NOP = 0x918
_REMARK = re.compile(r"Remark: +(.*)|Instruction: +(.*)|Shape: +(.*)")


@dataclass(frozen=True, slots=True)
class Cubins:
    """Both sides of a comparison."""

    a: Cubin
    b: Cubin

    @property
    def same(self) -> bool:
        return self.a.image == self.b.image


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
    return sum(_count(code) for name, code in _sections(cubin.image) if name.startswith(".text."))


def remarks(cubin: Cubin) -> Counter[str]:
    """How often the compiler remarked what, such as `TMA Load instruction '[64, 64]'`."""
    found: Counter[str] = Counter()
    for document in cubin.remarks.split("--- !")[1:]:
        said = [next(filter(None, groups)) for groups in _REMARK.findall(document)]
        found[" ".join(said)] += 1
    return found


def _count(code: bytes) -> int:
    words = [code[at : at + 2] for at in range(0, len(code), _INSTRUCTION)]
    return sum(1 for word in words if len(word) == 2 and struct.unpack("<H", word)[0] & 0xFFF != _NOP)


def _sections(image: bytes) -> list[tuple[str, bytes]]:
    """Names and contents of the ELF file's sections."""
    (at,) = struct.unpack_from("<Q", image, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", image, at + index * size) for index in range(count)]
    names = image[headers[names_at][4] :]
    return [
        (names[name : names.index(b"\0", name)].decode(), image[offset : offset + length])
        for name, _, _, _, offset, length in headers
    ]
