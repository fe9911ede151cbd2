"""Tells kernels of one name apart: a hash of a function's code, defaults and closure, the same from run to run."""

from __future__ import annotations

import hashlib
import json
from types import CodeType
from typing import Any

DEEPEST = 6


def code_digest(function: Any) -> str:
    """Equal for equal code over equal constants; values that have no stable spelling count by their type."""
    return hashlib.sha256(repr(_told(function, 0)).encode()).hexdigest()[:16]


def launch_key(kernel: Any, signature: Any, arch: str) -> str:
    """Names what a launch has compiled, the same on every machine with this Python and cuTile: cubins go by it."""
    by_target = kernel._compiler_options.hints_by_target()
    hints = {**by_target.get("default", {}), **by_target.get(arch, {})}
    function = kernel._pyfunc
    told = [
        function.__module__,
        function.__qualname__,
        code_digest(function),
        signature.calling_convention.code,
        list(map(repr, signature.parameters)),
        sorted((name, value) for name, value in hints.items() if value is not None),
        arch,
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]


def _told(value: Any, depth: int) -> object:
    if depth > DEEPEST:
        return "..."
    if isinstance(value, CodeType):
        return (value.co_code.hex(), value.co_names, [_told(constant, depth + 1) for constant in value.co_consts])
    if isinstance(value, (frozenset, set)):
        return sorted(map(repr, value))
    if isinstance(value, (tuple, list)):
        return [_told(item, depth + 1) for item in value]
    code = getattr(value, "__code__", None)
    if code is None:
        text = repr(value)
        return f"{type(value).__module__}.{type(value).__qualname__}" if " at 0x" in text else text
    cells = [_cell(cell, depth) for cell in value.__closure__ or ()]
    return (_told(code, depth + 1), _told(value.__defaults__, depth + 1), cells)


def _cell(cell: Any, depth: int) -> object:
    try:
        return _told(cell.cell_contents, depth + 1)
    except ValueError:  # not bound yet
        return "empty"
