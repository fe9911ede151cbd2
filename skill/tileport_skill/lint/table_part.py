"""The part of a wrapper that `draft --tuned` writes: data, and code of ours that looks it up.

That code reads `kernel.rs`, the environment and signatures, which no wrapper may. It is let through word for word, and
only then: what it does is known, and only its data differ from port to port.
"""

from __future__ import annotations

import ast
import re

from tileport_skill.draft.tuned import CODE, FROM_IMPORTS, IMPORTS, OPTIONS, SEARCH

_FIELDS = {
    "kernel": r"[0-9a-f]{64}",
    "arch": r"sm_\d+",
    "table": r"(?P<table>\[\n(?: {8}[^\n]*\n)* {4}\])",
    "operator": r"\w+",
}


def without_table(text: str) -> str:
    """`text` with that part, and the imports that serve nothing else, as empty lines; unchanged where it has none."""
    found = _PART.search(text)
    if found is None or not _is_data(found["table"]):
        return text
    rest = text[: found.start()] + "\n" * found[0].count("\n") + text[found.end() :]
    try:
        used = {node.id for node in ast.walk(ast.parse(rest)) if isinstance(node, ast.Name)}
    except SyntaxError:
        return text
    needless = {line for line in (*IMPORTS, *FROM_IMPORTS) if line.split()[-1] not in used}
    return "\n".join("" if line in needless else line for line in rest.split("\n"))


def _is_data(table: str) -> bool:
    try:
        ast.literal_eval(table)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _part() -> re.Pattern[str]:
    marks = {name: f"MARK{name}MARK" for name in _FIELDS}
    pattern = re.escape(CODE.format(**marks))
    for name, field in _FIELDS.items():
        pattern = pattern.replace(marks[name], field)
    return re.compile(f"^{pattern}(?:\n\n{re.escape(SEARCH)})?(?:\n\n{re.escape(OPTIONS)})?", re.MULTILINE)


_PART = _part()
