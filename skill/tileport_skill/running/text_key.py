"""What names a compiled kernel wherever its checkout lies: bytecode holds the path of its source, its text does not."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from tileport_skill.tileir.assemble import disassemble


@functools.lru_cache(maxsize=4096)
def text_key(bytecode: Path) -> str:
    """The hash of the text of a file of bytecode."""
    return hashlib.sha256(str(disassemble(bytecode.read_bytes())).encode()).hexdigest()
