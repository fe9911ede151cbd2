"""`tileport-skill draft`: a first port of an operator, written and proved by a program."""

from __future__ import annotations

import functools
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture
from tileport_skill.draft.check import Line, check, exit_status, refused_line
from tileport_skill.draft.measure import Measured
from tileport_skill.draft.operator import KernelDraft, Route, draft_kernel
from tileport_skill.draft.port import PortDraft, check_vacant, draft_port, kernel_alone
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files

Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout, or of an unpacked wheel.")]
Out = Annotated[
    Path, typer.Option("--out", help="The files go there under their paths in the checkout; may be its root.")
]
KernelOnly = Annotated[bool, typer.Option("--kernel-only", help="Write kernel.rs alone, also where a port is already.")]
Archs = Annotated[list[str], typer.Option("--arch", help="sm_90, sm_100 or sm_120; may be repeated.")]
Check = Annotated[bool, typer.Option("--check", help="Prove the draft against everything captured, on the CPU.")]
Declare = Annotated[
    bool, typer.Option("--declare", help="Let the kernel declare operations that cuTile Rust 0.2.0 has no word for.")
]
Way = Annotated[
    Route | None,
    typer.Option("--route", help="Take this route for every kernel; else translation, and Tile IR where it refuses."),
]
Program = Annotated[Path | None, typer.Option("--emitter", help="The emitter program; built if not given.")]
Tuning = Annotated[bool, typer.Option(help="Check every configuration of the tuning space too.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
ARCHS = ["sm_90"]


def add_commands(app: typer.Typer) -> None:
    app.command("draft")(draft_command)


def draft_command(
    operator: str,
    repo: Repo = Path(),
    out: Out = Path("draft"),
    arch: Archs = ARCHS,
    kernel_only: KernelOnly = False,
    checked: Check = False,
    declare: Declare = False,
    route: Way = None,
    emitter: Program = None,
    tuning: Tuning = True,
    as_json: Json = False,
) -> None:
    """Draft an operator's port, six files: kernels translated from the Python source, launcher, wrapper, three edits.

    Where the host code has no counterpart there is kernel.rs alone, and the reason. Exit status: 0 the whole port
    (with --check: and its kernels are equal), 10 one differs, 11 something is refused or not known to be equal, 12 bad
    request, 13 our machinery.
    """
    started = time.monotonic()
    checkout = open_checkout(repo)
    found = find_operator(read_operators(checkout), operator)
    if not kernel_only:
        check_vacant(checkout, found)
    with tempfile.TemporaryDirectory(prefix="tileport-draft-") as folder:
        captures = capture(checkout, [found], arch, Path(folder), tuning=tuning)
    known = {one.id: one for captured in captures for one in captured.specialisations}
    if not known:
        raise RequestError(f"No test of {found.name} launches a kernel, so there is nothing to translate from.")
    specialisations = list(known.values())

    @functools.cache
    def program() -> Emitter:
        return Emitter(emitter or built_emitter())

    def drafted(untrusted: frozenset[str]) -> tuple[PortDraft, tuple[Line, ...]]:
        draft = draft_kernel(
            checkout,
            found,
            specialisations,
            arch[0],
            declare=declare,
            route=route,
            untrusted=untrusted,
            emitter=program,
        )
        port = kernel_alone(checkout, found, draft) if kernel_only else draft_port(checkout, found, draft)
        _write(out, port)
        return port, _lines(draft, captures, out / port_files(checkout, found).kernel, program() if checked else None)

    port, lines = drafted(frozenset())
    if route is None and (wrong := _mistranslated(lines)):
        other, others = drafted(wrong)
        if _failing(others) < _failing(lines):
            port, lines = other, others
        else:
            _write(out, port)
    seconds = time.monotonic() - started
    if as_json:
        _print_json(found.name, out, port, lines, seconds)
    else:
        _print(out, port, lines, seconds)
    raise typer.Exit(exit_status(lines) or (11 if port.refused else 0))


def _mistranslated(lines: Sequence[Line]) -> frozenset[str]:
    """Kernels whose translation is not equal: their Tile IR is tried instead."""
    translated = (one for one in lines if one.measured is not None and one.measured.route == "translation")
    return frozenset(one.kernel for one in translated if one.different or one.unknown)


def _failing(lines: Sequence[Line]) -> int:
    return sum(one.different + one.unknown + (one.refused is not None) for one in lines)


def _write(out: Path, port: PortDraft) -> None:
    for name, text in port.files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


def _lines(draft: KernelDraft, captures: tuple[Capture, ...], path: Path, emitter: Emitter | None) -> tuple[Line, ...]:
    if emitter is not None and draft.text is not None:
        return check(draft, captures, path, emitter)
    made = [
        Line(kernel=m.kernel, equal={}, different=0, unknown=0, why=(), measured=m, refused=None)
        for m in draft.translated
    ]
    return (*made, *map(refused_line, draft.refused))


def _print_json(operator: str, out: Path, port: PortDraft, lines: tuple[Line, ...], seconds: float) -> None:
    document = {
        "operator": operator,
        "files": [str(out / name) for name in port.files],
        "refused": port.refused,
        "seconds": round(seconds, 1),
        "kernels": TypeAdapter(tuple[Line, ...]).dump_python(lines, mode="json"),
    }
    print(json.dumps(document, indent=1))


def _print(out: Path, port: PortDraft, lines: tuple[Line, ...], seconds: float) -> None:
    table = Table("kernel", "equal", "different", "unknown", "names kept", "lines", "Python", "unsafe", "", box=None)
    for line in lines:
        equal = ", ".join(f"{count} {rung}" for rung, count in line.equal.items()) or "-"
        table.add_row(line.kernel, equal, *_counts(line), *_measures(line.measured), escape(_remark(line)))
    console = Console(width=None if sys.stdout.isatty() else 220)
    console.print(table)
    for name, text in port.files.items():
        console.print(f"{out / name}: {len(text.splitlines())} lines.")
    if port.refused:
        console.print(escape(f"No launcher and no wrapper: {port.refused}."))
    console.print(f"{seconds:.1f} s.")


def _counts(line: Line) -> tuple[str, str]:
    return str(line.different or "-"), str(line.unknown or "-")


def _measures(one: Measured | None) -> tuple[str, str, str, str]:
    if one is None:
        return "", "", "", ""
    return f"{one.names_kept} of {one.names}", str(one.rust_lines), str(one.python_lines), str(one.unsafe)


def _remark(line: Line) -> str:
    if line.refused is not None:
        place = f"line {line.refused.line}: " if line.refused.line else ""
        return f"not translated: {place}{line.refused.reason}"
    if line.measured is not None and line.measured.route == "tile-ir":
        return "; ".join(("from its Tile IR", *line.why))[:160]
    if line.measured is not None and not line.measured.translated:
        return "; ".join(("more like a transcript than a translation", *line.why))[:160]
    return "; ".join(line.why)[:160]
