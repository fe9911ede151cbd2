"""The table of all operators: which are drafted, how, shown equal by what, and what stands in the way. Resumable.

One folder holds it: a row for each operator as JSON, the drafts, and `table.md` and `table.json` made from the rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tileport_skill.capture.child import bounded
from tileport_skill.draft.dispatch import exit_status
from tileport_skill.draft.row import KernelRow, OperatorRow, write_row
from tileport_skill.pages.markdown import cell
from tileport_skill.tilegym.operators import Checkout, Operator

SKILL = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the table is about."""

    checkout: Checkout
    archs: tuple[str, ...]
    out: Path
    seconds: float
    """What one operator may take."""
    declare: bool = False


def make_table(asked: Asked, operators: Sequence[Operator], say: Callable[[str], None]) -> tuple[OperatorRow, ...]:
    """Makes the rows that are missing, out of date or broken; after each the table is written anew."""
    (asked.out / "rows").mkdir(parents=True, exist_ok=True)
    rows: dict[str, OperatorRow] = {}
    for operator in operators:
        path, key = asked.out / "rows" / f"{operator.name}.json", _key(asked, operator)
        there = _read(path)
        if there is not None and there.key == key and not there.broken:
            rows[operator.name] = there
    for operator in operators:
        if operator.name not in rows:
            rows[operator.name] = _made(asked, operator)
            say(summary(rows[operator.name]))
        _write_table(asked, tuple(rows[one.name] for one in operators if one.name in rows))
    return tuple(rows[operator.name] for operator in operators)


def _made(asked: Asked, operator: Operator) -> OperatorRow:
    """By a child, whose death is a row too."""
    path, key = asked.out / "rows" / f"{operator.name}.json", _key(asked, operator)
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tileport_skill.draft.row", operator.name, "--key", key]
    command += ["--repo", str(asked.checkout.root.resolve()), "--row", str(path.resolve())]
    command += ["--out", str((asked.out / "drafts" / operator.name).resolve()), "--arch", *asked.archs]
    command += ["--declare"] if asked.declare else []
    code, said = bounded(command, Path(), dict(os.environ), asked.seconds)
    row = _read(path)
    if row is None:
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
        row = OperatorRow(operator=operator.name, key=key, problem=f"ended with {code}: {last[:300]}", broken=True)
        write_row(row, path)
    return row


def _key(asked: Asked, operator: Operator) -> str:
    """Reference, tests, architectures, and the program itself: with another of these the row may be another."""
    digest = hashlib.sha256(repr((asked.archs, asked.declare)).encode())
    paths = [asked.checkout.root / path for path in (operator.reference, *operator.tests)]
    for path in [*paths, *sorted(SKILL.rglob("*.py")), *sorted(SKILL.rglob("*.rs"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _read(path: Path) -> OperatorRow | None:
    try:
        return TypeAdapter(OperatorRow).validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _write_table(asked: Asked, rows: tuple[OperatorRow, ...]) -> None:
    document = {
        "archs": asked.archs,
        "totals": totals(rows),
        "rows": TypeAdapter(tuple[OperatorRow, ...]).dump_python(rows, mode="json"),
    }
    texts = {"table.json": json.dumps(document, indent=1) + "\n", "table.md": markdown(asked.archs, rows)}
    for name, text in texts.items():
        part = asked.out / f"{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(asked.out / name)


def totals(rows: Sequence[OperatorRow]) -> dict[str, int]:
    """What the table comes to. A whole draft has all its kernels, launcher and wrapper."""
    kernels = [kernel for row in rows for kernel in row.kernels]
    return {
        "operators": len(rows),
        "drafted whole": sum(map(drafted_whole, rows)),
        "whole, every kernel equal, every launch agreeing": sum(map(drafted_and_shown, rows)),
        "kernels": len(kernels),
        "kernels drafted": sum(kernel.refused is None for kernel in kernels),
        "kernels whose every specialisation is equal": sum(kernel.holds for kernel in kernels),
        "specialisations": sum(kernel.specialisations for kernel in kernels),
        "unsafe": sum(kernel.unsafe for kernel in kernels),
    }


def drafted_whole(row: OperatorRow) -> bool:
    drafted = bool(row.kernels) and all(kernel.refused is None for kernel in row.kernels)
    return drafted and row.host is None and row.problem is None


def drafted_and_shown(row: OperatorRow) -> bool:
    """Whole, and all of it was shown: every kernel's every specialisation, and every launch."""
    equal = all(kernel.holds for kernel in row.kernels)
    return drafted_whole(row) and equal and exit_status(row.dispatch) == 0


def summary(row: OperatorRow) -> str:
    """One line while the table is made."""
    if row.problem is not None:
        return f"{row.operator}: {row.problem.splitlines()[0]}"
    drafted = sum(kernel.refused is None for kernel in row.kernels)
    equal = sum(kernel.holds for kernel in row.kernels)
    wrapper = "wrapper" if row.host is None else "no wrapper"
    return f"{row.operator}: {drafted} of {len(row.kernels)} kernels, {equal} equal, {wrapper}, {row.seconds:.0f} s"


def markdown(archs: Sequence[str], rows: Sequence[OperatorRow]) -> str:
    """The page: totals, a line for each kernel, a line for each operator's host side, and what is not drafted."""
    lines = ["# Drafts of all operators", "", *(f"- {name}: {count}" for name, count in totals(rows).items()), ""]
    lines += ["rustc with the real macro and the built launcher are not part of this table: it needs no build.", ""]
    heads = ["operator", "kernel", "variants", "specialisations", "drafted from", *archs, "not equal"]
    heads += ["`unsafe`", "Rust lines", "Python lines"]
    lines += [*_head(heads), *(_kernel_line(archs, row, kernel) for row in rows for kernel in row.kernels), ""]
    lines += ["## Wrapper and dispatch", ""]
    lines += _head(["operator", "launcher and wrapper", *archs, "Rust lines", "Python lines", "seconds"])
    lines += [_operator_line(archs, row) for row in rows]
    lines += ["", "## Not drafted, and why", ""]
    lines += [line for row in rows for line in _reasons(row)]
    return "\n".join(lines) + "\n"


def _head(heads: Sequence[str]) -> list[str]:
    return [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]


def _kernel_line(archs: Sequence[str], row: OperatorRow, kernel: KernelRow) -> str:
    by = ["; ".join(f"{n} {rung}" for rung, n in kernel.equal.get(arch, {}).items()) or "-" for arch in archs]
    counts = {"different": kernel.different, "unknown": kernel.unknown}
    unequal = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
    cells = [row.operator, f"`{kernel.kernel}`", kernel.variants, kernel.specialisations, kernel.route or "-", *by]
    cells += [unequal or "-", kernel.unsafe, kernel.rust_lines, kernel.python_lines]
    return f"| {' | '.join(map(str, cells))} |"


def _operator_line(archs: Sequence[str], row: OperatorRow) -> str:
    agreed = {one.arch: f"{one.agree} of {one.launches}" for one in row.dispatch}
    drafted = "yes" if row.host is None and row.problem is None else "no"
    cells = [row.operator, drafted, *(agreed.get(arch, "not checked") for arch in archs)]
    return f"| {' | '.join(map(str, [*cells, row.rust_lines, row.python_lines, row.seconds]))} |"


def _reasons(row: OperatorRow) -> list[str]:
    """Each thing that is missing or does not agree, a line each, the most frequent first."""
    found = [row.problem] if row.problem else []
    found += [f"`{kernel.kernel}`, {kernel.refused}" for kernel in row.kernels if kernel.refused]
    found += [f"`{k.kernel}` is not shown equal: {k.why[0]}" for k in row.kernels if not k.holds and k.why]
    found += [f"launcher and wrapper, {row.host}"] if row.host else []
    found += [f"dispatch was not checked: {row.dispatch_problem}"] if row.dispatch_problem else []
    apart: Counter[str] = Counter()
    for one in row.dispatch:
        apart.update({f"dispatch, {reason}": count for reason, count in (one.wrong | one.missing).items()})
    found += [f"{reason} ({count} launches)" for reason, count in apart.most_common(3)]
    return [f"- **{row.operator}**: {cell(text)}" for text in found]
