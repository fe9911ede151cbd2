"""What is to be measured, as one document: fixed before the first sample, and the same on the machine that judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import PORT_BACKEND, REFERENCE_BACKEND, Checkout, read_operators
from tileport_skill.tilegym.port_files import declared_entries
from tileport_skill.timing.raw import FORMAT
from tileport_skill.timing.rows import rows_of

TRITON = "triton"
BASELINES = (REFERENCE_BACKEND, TRITON)
CANDIDATES = (PORT_BACKEND,)

COMPILE_LIMIT = 5.0
"""Seconds one configuration may compile while it is tuned: the reference's own limit, kept on both sides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How many fresh processes measure each row: `processes` always, up to `most` while a row straddles the rule."""

    processes: int = 8
    most: int = 16


def make_plan(
    checkout: Checkout,
    operators: Sequence[str],
    baseline: str = REFERENCE_BACKEND,
    candidate: str = PORT_BACKEND,
    budget: Budget | None = None,
    compile_limit: float = COMPILE_LIMIT,
    most_rows: int | None = None,
) -> dict[str, Any]:
    """With `most_rows` a trial of that many rows an operator, spread over its list.

    Raises `RequestError` for an unknown backend, an operator without rows, or one whose port is not there.
    """
    _check_sides(baseline, candidate)
    budget = budget or Budget()
    known = {operator.name: operator for operator in read_operators(checkout)}
    for name in operators:
        if name not in known:
            raise RequestError(f"{checkout.root} has no operator {name!r}. `tileport ops` lists them all.")
        if not known[name].ported:
            raise RequestError(f"{checkout.root} holds no cuTile Rust port of {name}: there is nothing to compare.")
    return {
        "format": FORMAT,
        "baseline": baseline,
        "candidate": candidate,
        "processes": budget.processes,
        "most_processes": max(budget.processes, budget.most),
        "compile_limit": compile_limit,
        "reference_kernels": sorted({kernel for operator in known.values() for kernel in operator.kernels}),
        "port_entries": port_entries(checkout),
        "operators": {name: _rows(name, most_rows) for name in operators},
    }


def port_entries(checkout: Checkout) -> list[str]:
    """The entry functions of every port in the checkout: one operator's host code may call another's kernels."""
    sources = sorted(checkout.port_dir.glob("*_kernel/kernel.rs"))
    return sorted({name for path in sources for name in declared_entries(path.read_text(encoding="utf-8"))})


def _rows(operator: str, most: int | None) -> dict[str, Any]:
    kept = rows_of(operator)
    step = 1 if most is None else -(-len(kept.rows) // most)
    return {
        "origin": list(kept.origin),
        "why": kept.why,
        "rtol": kept.rtol,
        "atol": kept.atol,
        "left_out": len(kept.rows) - len(kept.rows[::step]),
        "rows": [{"id": row.id, "arguments": _plain(row.arguments)} for row in kept.rows[::step]],
    }


def _plain(arguments: Any) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in arguments.items()}


def _check_sides(baseline: str, candidate: str) -> None:
    if baseline not in BASELINES:
        raise RequestError(f"--baseline is one of {', '.join(BASELINES)}, not {baseline!r}.")
    if candidate not in CANDIDATES:
        raise RequestError(f"--candidate is {CANDIDATES[0]}, not {candidate!r}.")
