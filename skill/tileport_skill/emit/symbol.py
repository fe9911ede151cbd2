"""Gives the entry of a Tile IR bytecode file another symbol, touching nothing else.

The symbol is part of a cubin, so two kernels compare only under one; a port's own launcher chooses its own. A file is
a header of 12 bytes and sections, one of them the table of strings; only that one changes, and what alignment asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

HEADER = 12
MAGIC = b"\x7fTileIR\x00"
END, STRINGS = 0x00, 0x01
ALIGNED = 0x80
PADDING = b"\xcb"


class Malformed(ValueError):
    """Not a bytecode file as it is known here."""


@dataclass(frozen=True, slots=True)
class _Section:
    id: int
    alignment: int
    content: bytes


def rename_entry(bytecode: bytes, old: str, new: str) -> bytes:
    """`bytecode` with the string `old`, which must be in it, replaced by `new`. Raises `Malformed`."""
    if not bytecode.startswith(MAGIC):
        raise Malformed("no Tile IR bytecode: the magic number is missing")
    out = bytearray(bytecode[:HEADER])
    for section in _sections(bytecode):
        content = section.content
        if section.id == STRINGS:
            content = _renamed(content, old.encode(), new.encode())
        out.append(section.id | (ALIGNED if section.alignment > 1 else 0))
        out += _varint(len(content))
        if section.alignment > 1:
            out += _varint(section.alignment)
            out += PADDING * (-len(out) % section.alignment)
        out += content
    out.append(END)
    return bytes(out)


def _sections(bytecode: bytes) -> Iterator[_Section]:
    at = HEADER
    while True:
        if at >= len(bytecode):
            raise Malformed("the file ends inside a section")
        kind = bytecode[at]
        at += 1
        if kind == END:
            return
        length, at = _read_varint(bytecode, at)
        alignment = 1
        if kind & ALIGNED:
            alignment, at = _read_varint(bytecode, at)
            at += -at % alignment
        if at + length > len(bytecode):
            raise Malformed("a section is longer than the file")
        yield _Section(kind & ~ALIGNED, alignment, bytecode[at : at + length])
        at += length


def _renamed(table: bytes, old: bytes, new: bytes) -> bytes:
    count, at = _read_varint(table, 0)
    at += -at % 4
    starts = [int.from_bytes(table[at + 4 * i : at + 4 * i + 4], "little") for i in range(count)]
    data = table[at + 4 * count :]
    ends = [*starts[1:], len(data)]
    strings = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    if strings.count(old) != 1:
        raise Malformed(f"the string {old.decode()!r} is not in the file exactly once")
    strings = [new if string == old else string for string in strings]
    out = bytearray(_varint(count))
    out += PADDING * (-len(out) % 4)
    start = 0
    for string in strings:
        out += start.to_bytes(4, "little")
        start += len(string)
    return bytes(out) + b"".join(strings)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7
    raise Malformed("the file ends inside a number")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
