"""References made by Triton's Tile IR backend, taken from a folder somebody dumped them to. Never required.

UNPROVED: no Triton with that backend was at hand; the reader is tested on bytecode of cuTile's. What its source says
(triton-lang/Triton-to-tile-IR, 50ec1da): `TRITON_KERNEL_DUMP=1` writes `.tileIR` files, MLIR as text, which nothing
here reads; the bytecode is a temporary file, handed to `$TRITON_TILEIRAS_PATH/tileiras` and then removed. So a script
in that folder, named `tileiras`, has to keep its input: the argument before `-o`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tileport_skill.capture.cache import bytecode_path
from tileport_skill.capture.records import FORBID
from tileport_skill.errors import RequestError
from tileport_skill.tileir.assemble import Refused, disassemble

MAGIC = b"\x7fTileIR\x00"
TEXT_SUFFIX = ".tileIR"
TEXTS_ONLY = (
    " Its .tileIR files are text. Run Triton with TRITON_TILEIRAS_PATH at a folder whose script `tileiras` copies the "
    "bytecode it is given, the argument before -o, and then calls the real one; give the folder of copies."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumped:
    """One file of a dump: a kernel, or why it is none."""

    file: str
    symbol: str | None
    sha256: str | None
    """Its bytecode in the cache, content-addressed like an exported reference."""
    refused: str | None = None
    __pydantic_config__: ClassVar = FORBID


def read_dump(folder: Path) -> tuple[Dumped, ...]:
    """Every Tile IR bytecode file under `folder`, by name; other files are passed over.

    Raises `RequestError` if the folder holds none: a wrong folder must not look like an operator without a reference.
    """
    if not folder.is_dir():
        raise RequestError(f"{folder} is no folder. --triton-dump takes the folder a Triton run dumped Tile IR to.")
    found, texts = [], 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        texts += path.suffix == TEXT_SUFFIX
        content = path.read_bytes()
        if content.startswith(MAGIC):
            found.append(_read(path.relative_to(folder).as_posix(), content))
    if not found:
        raise RequestError(f"{folder} holds no Tile IR bytecode.{TEXTS_ONLY if texts else ''}")
    return tuple(found)


def _read(name: str, content: bytes) -> Dumped:
    text = disassemble(content)
    if isinstance(text, Refused):
        return Dumped(file=name, symbol=None, sha256=None, refused=text.reason)
    entries = re.findall(r"^entry @([\w$.]+)\(", text, re.MULTILINE)
    if len(entries) != 1:
        return Dumped(file=name, symbol=None, sha256=None, refused=f"it holds {len(entries)} entries, not one")
    sha256 = hashlib.sha256(content).hexdigest()
    bytecode_path(sha256).write_bytes(content)
    return Dumped(file=name, symbol=entries[0], sha256=sha256)
