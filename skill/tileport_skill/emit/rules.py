"""Short words for what cuTile Rust 0.2.0's compiler says about a kernel: its message, the line, the rule behind it."""

from __future__ import annotations

import re

from tileport_skill.emit.entries import Problem

RULES = (
    (
        r"Unexpected None value for key",
        "a helper's const generic must be told by its arguments, not by its result alone",
    ),
    (r"missing attribute", "use the operators (+, -, *, /, %) or ceil_div instead of this function without a mode"),
    (r"Unable to infer return type for make_partition_view", "leave the tensor view's let without a type"),
    (r"Undefined function", "call only functions of this module and of cutile::core"),
    (r"Unexpected dense value", "constant() takes a literal; use broadcast_scalar for a const generic"),
    (r"Expected \d+ generic|generic arguments", "give the launcher one string per generic, in the order of the entry"),
)
LONGEST = 400


def explained(problem: Problem) -> str:
    """One line: the message without paths and backtraces, its place, and the rule if one is known."""
    lines = [line.strip() for line in problem.message.splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("panicked at", "-->", "note:", "stack backtrace"))]
    text = " ".join(kept or lines)[:LONGEST]
    place = "" if problem.line is None else f"line {problem.line}: "
    rule = next((rule for pattern, rule in RULES if re.search(pattern, problem.message)), None)
    return f"{place}{text}" + (f" ({rule})" if rule else "")
