"""`python -m tileport_skill.draft.row`: one operator drafted and checked, as one line of the table of all of them.

A process of its own for each operator: whatever happens to it, the others' lines are safe.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import TypeAdapter

from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture
from tileport_skill.draft.check import Line, check_dispatch, draft_proved, lines_of
from tileport_skill.draft.dispatch import Agreement
from tileport_skill.draft.operator import KernelDraft
from tileport_skill.draft.own import own_kernels
from tileport_skill.draft.port import launcher_and_wrapper
from tileport_skill.draft.values import Untranslatable
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import Checkout, Operator, find_operator, open_checkout, read_operators


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow:
    """One kernel of the reference that its tests launch."""

    kernel: str
    variants: int
    """Rust entries."""
    specialisations: int
    """Distinct ones captured, over all architectures."""
    route: str | None
    equal: dict[str, dict[str, int]]
    """By architecture: by the rung that showed it."""
    different: int
    unknown: int
    why: tuple[str, ...]
    unsafe: int
    rust_lines: int
    python_lines: int
    refused: str | None
    """The first construct that stands in the way, with its line."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    @property
    def holds(self) -> bool:
        """Whether every specialisation was shown equal."""
        return self.refused is None and not self.different and not self.unknown and any(self.equal.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRow:
    """One operator. Files are written beside the table, for a person to read."""

    operator: str
    key: str
    """What it was made from: a row of another key is made again."""
    kernels: tuple[KernelRow, ...] = ()
    host: str | None = None
    """Why there is no launcher and no wrapper."""
    dispatch: tuple[Agreement, ...] = ()
    dispatch_problem: str | None = None
    """Why dispatch could not be checked."""
    rust_lines: int = 0
    """Of kernel.rs and ffi.rs together."""
    python_lines: int = 0
    """Of the reference's module."""
    seconds: float = 0.0
    problem: str | None = None
    """Why there is no draft at all: a request that was refused, a process that died."""
    broken: bool = False
    """Whether the next run tries again."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def draft_row(
    checkout: Checkout, operator: Operator, archs: Sequence[str], out: Path, key: str, *, declare: bool
) -> OperatorRow:
    """Drafts, checks, and writes the draft's own files under `out`."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tileport-row-") as folder:
        found = capture(checkout, [operator], archs, Path(folder), again=True)
    captures = tuple(own_kernels(captured, checkout, operator) for captured in found)
    known = {one.id: one for captured in captures for one in captured.specialisations}
    if not known:
        raise RequestError(f"no test of {operator.name} launches a kernel of its own")
    draft, rows = draft_proved(checkout, operator, captures, Emitter(built_emitter()), declare=declare)
    texts, host = _texts(checkout, operator, draft)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
    lines = {arch: lines_of(draft, [row for row in rows if row.arch == arch]) for arch in archs}
    dispatch, problem = _dispatch(checkout, operator, draft, texts, captures)
    counts = Counter(one.kernel for one in known.values())
    reference = (checkout.root / operator.reference).read_text(encoding="utf-8")
    return OperatorRow(
        operator=operator.name,
        key=key,
        kernels=tuple(_kernel_row(draft, name, count, lines) for name, count in counts.items()),
        host=host,
        dispatch=dispatch,
        dispatch_problem=problem,
        rust_lines=sum(len(text.splitlines()) for name, text in texts.items() if name.endswith(".rs")),
        python_lines=len(reference.splitlines()),
        seconds=round(time.monotonic() - started, 1),
    )


def _texts(checkout: Checkout, operator: Operator, draft: KernelDraft) -> tuple[dict[str, str], str | None]:
    """The port's own three files, and why some are missing."""
    if draft.text is None:
        return {}, "not one kernel is translated"
    texts = {"kernel.rs": draft.text}
    try:
        launcher, wrapper = launcher_and_wrapper(checkout, operator, draft)
    except Untranslatable as error:
        return texts, _at(error.line, str(error))
    return texts | {"ffi.rs": launcher, "wrapper.py": wrapper}, None


def _at(line: int | None, reason: str) -> str:
    return f"line {line}: {reason}" if line else reason


def _dispatch(
    checkout: Checkout, operator: Operator, draft: KernelDraft, texts: Mapping[str, str], captures: Sequence[Capture]
) -> tuple[tuple[Agreement, ...], str | None]:
    if "wrapper.py" not in texts:
        return (), None
    try:
        return check_dispatch(checkout, operator, draft, texts["wrapper.py"], captures), None
    except RequestError as error:
        return (), str(error)


def _kernel_row(draft: KernelDraft, kernel: str, count: int, lines: Mapping[str, tuple[Line, ...]]) -> KernelRow:
    measured = [one for one in draft.translated if one.kernel == kernel]
    found = {arch: [line for line in told if line.kernel == kernel] for arch, told in lines.items()}
    every = [line for told in found.values() for line in told]
    refusal = next((one for one in draft.refused if one.kernel == kernel), None)
    return KernelRow(
        kernel=kernel,
        variants=len(measured),
        specialisations=count,
        route=measured[0].route if measured else None,
        equal={arch: dict(sum((Counter(line.equal) for line in told), Counter())) for arch, told in found.items()},
        different=sum(line.different for line in every),
        unknown=sum(line.unknown for line in every),
        why=tuple(dict.fromkeys(reason for line in every for reason in line.why)),
        unsafe=sum(one.unsafe for one in measured),
        rust_lines=sum(one.rust_lines for one in measured),
        python_lines=measured[0].python_lines if measured else 0,
        refused=_at(refusal.line, refusal.reason) if refusal else None if measured else "it is not among the drafted",
    )


def write_row(row: OperatorRow, path: Path) -> None:
    """Whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(TypeAdapter(OperatorRow).dump_json(row, indent=1))
    part.replace(path)


def main() -> int:
    options = _parser().parse_args()
    checkout = open_checkout(options.repo)
    operator = find_operator(read_operators(checkout), options.operator)
    try:
        row = draft_row(checkout, operator, options.arch, options.out, options.key, declare=options.declare)
    except (RequestError, MachineryError) as error:
        broken = isinstance(error, MachineryError)
        row = OperatorRow(operator=operator.name, key=options.key, problem=str(error), broken=broken)
    write_row(row, options.row)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tileport_skill.draft.row", description=__doc__)
    parser.add_argument("operator")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="where the draft's files go")
    parser.add_argument("--row", type=Path, required=True, help="the JSON to write")
    parser.add_argument("--key", required=True)
    parser.add_argument("--arch", nargs="+", required=True)
    parser.add_argument("--declare", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
