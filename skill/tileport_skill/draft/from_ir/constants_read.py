"""The value of a constant operation, from the spelling of `tileirdisasm`."""

from __future__ import annotations

import struct

from tileport_skill.draft.values import Untranslatable
from tileport_skill.tileir.records import Op

FORMATS = {"f32": ("<I", "<f"), "f16": ("<H", "<e"), "f64": ("<Q", "<d")}


def constant_value(op: Op) -> bool | int | float:
    """Raises `Untranslatable` for tables of values and for formats whose bits are not known here."""
    element, _, text = op.attributes["value"].partition(": ")
    if text.startswith("["):
        raise Untranslatable(f"a constant of many values, {text[:40]}")
    if element == "i1":
        return text == "true"
    if element.startswith("i"):
        return int(text)
    if not text.startswith("0x"):
        return float(text)
    bits = int(text, 16)
    if element in ("bf16", "tf32"):
        bits, element = bits << (16 if element == "bf16" else 0), "f32"
    if element not in FORMATS:
        raise Untranslatable(f"the constant {text} of type {element}")
    to_bits, from_bits = FORMATS[element]
    found: float = struct.unpack(from_bits, struct.pack(to_bits, bits))[0]
    return found
