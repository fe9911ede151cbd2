"""A reference's host code without the copies that it makes of its inputs: text in, text out."""

from __future__ import annotations

import ast

_BACKWARD = ("backward", "bwd")


def without_copies(text: str) -> str:
    """`x.contiguous()` becomes `x` in everything but backward passes, which nobody tunes."""
    edits = []
    tree = ast.parse(text)
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not any(word in function.name for word in _BACKWARD):
            edits += [_span(call, starts) for call in ast.walk(function) if _is_copy(call)]
    found = text.encode()
    for begin, end in sorted(set(edits), reverse=True):
        found = found[:begin] + found[end:]
    return found.decode()


def _is_copy(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="contiguous"), args=[], keywords=[]):
            return True
    return False


def _span(call: ast.AST, starts: list[int]) -> tuple[int, int]:
    """From the end of `x` to the end of `x.contiguous()`."""
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    inner = call.func.value
    assert inner.end_lineno is not None
    assert inner.end_col_offset is not None
    assert call.end_lineno is not None
    assert call.end_col_offset is not None
    return starts[inner.end_lineno - 1] + inner.end_col_offset, starts[call.end_lineno - 1] + call.end_col_offset
