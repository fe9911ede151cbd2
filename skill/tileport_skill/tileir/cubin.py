"""What can be read off a cubin without running it: how many instructions, and what the compiler remarked."""

from __future__ import annotations

import re
import struct
from collections import Counter

from tileport_skill.tileir.assemble import Cubin

_INSTRUCTION = 16
_NOP = 0x918
_REMARK = re.compile(r"Remark: +(.*)|Instruction: +(.*)|Shape: +(.*)")


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
