"""`tileport-skill draft`: a first port of an operator, written and proved by a program."""

from __future__ import annotations

import hashlib
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
from tileport_skill.draft.check import Line, check_dispatch, checked_status, draft_proved, exit_status, lines_of
from tileport_skill.draft.dispatch import Agreement
from tileport_skill.draft.measure import Measured
from tileport_skill.draft.operator import KernelDraft, Only, draft_kernel
from tileport_skill.draft.own import own_kernels
from tileport_skill.draft.port import PortDraft, check_vacant, draft_port, kernel_alone
from tileport_skill.draft.report import report_of, write_report
from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, Operator, find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files
from tileport_skill.tuning.table import Table as TuningTable
from tileport_skill.tuning.table import fits, read_table
from tileport_skill.tuning.used import bare_checkout, used

Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout, or of an unpacked wheel.")]
Out = Annotated[
    Path, typer.Option("--out", help="The files go there under their paths in the checkout; may be its root.")
]
KernelOnly = Annotated[bool, typer.Option("--kernel-only", help="Write kernel.rs alone, also where a port is already.")]
Archs = Annotated[list[str], typer.Option("--arch", help="sm_90, sm_100 or sm_120; may be repeated.")]
Check = Annotated[
    bool, typer.Option("--check", help="Prove kernels and dispatch against all that is captured, on the CPU.")
]
Declare = Annotated[
    bool, typer.Option("--declare", help="Let the kernel declare operations that cuTile Rust 0.2.0 has no word for.")
]
Route = Annotated[
    Only | None,
    typer.Option("--route", help="Take this route for every kernel; else translation, and Tile IR where it refuses."),
]
Program = Annotated[Path | None, typer.Option("--emitter", help="The emitter program; built if not given.")]
Tuning = Annotated[bool, typer.Option(help="Check every configuration of the tuning space too.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Report = Annotated[Path | None, typer.Option("--report", help="Write what came out as JSON, for another program.")]
Tuned = Annotated[
    Path | None, typer.Option("--tuned", help="A table that `tune --out` wrote, to deliver in the wrapper.")
]
ARCHS = ["sm_90"]
MOST_REASONS = 12
NOT_PROVED = (
    "Nothing of this is proved: neither kernels nor launches were compared with the reference's, which `--check` does."
)
NOT_RUN = (
    "Not run, as it needs a build: rustc on the files, and the launcher itself. In the checkout with the draft: "
    "`cargo build --release` in cutile_kernels, then `tileport-skill verify OP --library target/release/"
    "libcutile_kernels.so`."
)


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
    route: Route = None,
    emitter: Program = None,
    tuning: Tuning = True,
    tuned: Tuned = None,
    report: Report = None,
    as_json: Json = False,
) -> None:
    """Draft an operator's port, six files: kernels from the Python source or Tile IR, launcher, wrapper, edits.

    Where the host code has no counterpart there is kernel.rs alone, and the reason. Exit status: 0 the whole port was
    written, which without --check says nothing of its being right (with --check: and all of it was shown equal, kernel
    by kernel and launch by launch), 10 something differs, 11 something is refused or not known to be equal, 12 bad
    request, 13 our machinery.
    """
    started = time.monotonic()
    checkout = open_checkout(repo)
    found = find_operator(read_operators(checkout), operator)
    if not kernel_only:
        check_vacant(checkout, found)
    with tempfile.TemporaryDirectory(prefix="tileport-draft-") as name:
        folder, table = Path(name), _table(checkout, found, tuned)
        if table is not None and not table.copies:
            checkout = bare_checkout(checkout, found, folder / "bare")
        captures = capture(checkout, [found], arch, folder, tuning=tuning, for_ports=checked, again=True)
        captures = tuple(own_kernels(captured, checkout, found) for captured in captures)
        if not any(captured.specialisations for captured in captures):
            raise RequestError(
                f"No test of {found.name} launches a kernel of its own, so there is nothing to translate from."
            )
        chosen = () if table is None else used(checkout, found, table, folder / "tuned", for_ports=checked)
        everything = (*captures, *chosen)
        draft, lines = _drafted(checkout, found, everything, emitter, checked=checked, declare=declare, route=route)
        port = kernel_alone(checkout, found, draft) if kernel_only else draft_port(checkout, found, draft, table)
        _write(out, port)
        agreements: tuple[Agreement, ...] = ()
        wrapper = port.files.get(port_files(checkout, found).wrapper)
        if checked and wrapper is not None:
            agreements = check_dispatch(checkout, found, draft, wrapper, captures, tuning=tuning)
    seconds = time.monotonic() - started
    if report is not None:
        write_report(report_of(found.name, draft, port, seconds), report)
    if as_json:
        _print_json(found.name, out, port, lines, agreements, seconds, checked=checked)
    else:
        _print(out, port, lines, seconds)
        if checked:
            _print_checked(agreements)
        else:
            print(NOT_PROVED)
    status = checked_status(lines, None if kernel_only else agreements) if checked else exit_status(lines)
    raise typer.Exit(status or (11 if port.refused else 0))


def _table(checkout: Checkout, operator: Operator, path: Path | None) -> TuningTable | None:
    """The table, or None with a word on why it is not used."""
    if path is None:
        return None
    table = read_table(path)
    text = (checkout.root / operator.reference).read_bytes()
    if (why := fits(table, operator.name, hashlib.sha256(text).hexdigest())) is not None:
        print(f"{path} is ignored: {why}.", file=sys.stderr)
        return None
    return table


def _drafted(
    checkout: Checkout,
    operator: Operator,
    captures: Sequence[Capture],
    emitter: Path | None,
    *,
    checked: bool,
    declare: bool,
    route: Only | None,
) -> tuple[KernelDraft, tuple[Line, ...]]:
    """The emitter is built only where it is needed."""
    if checked:
        program = Emitter(emitter or built_emitter())
        draft, rows = draft_proved(checkout, operator, captures, program, declare=declare, route=route)
        return draft, lines_of(draft, rows)
    known = {one.id: one for captured in captures for one in captured.specialisations}
    draft = draft_kernel(
        checkout,
        operator,
        list(known.values()),
        captures[0].arch,
        declare=declare,
        route=route,
        emitter=lambda: Emitter(emitter or built_emitter()),
    )
    return draft, lines_of(draft, ())


def _write(out: Path, port: PortDraft) -> None:
    for name, text in port.files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")


def _print_json(
    operator: str,
    out: Path,
    port: PortDraft,
    lines: tuple[Line, ...],
    agreements: tuple[Agreement, ...],
    seconds: float,
    *,
    checked: bool,
) -> None:
    document = {
        "operator": operator,
        "checked": checked,
        "files": [str(out / name) for name in port.files],
        "refused": port.refused,
        "seconds": round(seconds, 1),
        "kernels": TypeAdapter(tuple[Line, ...]).dump_python(lines, mode="json"),
        "dispatch": TypeAdapter(tuple[Agreement, ...]).dump_python(agreements, mode="json"),
    }
    print(json.dumps(document, indent=1))


def _print_checked(agreements: tuple[Agreement, ...]) -> None:
    """What the wrapper asks for, and what a check without a build leaves open."""
    for one in agreements:
        print(f"Dispatch, {one.arch}: {one.agree} of {one.launches} launches agree.")
        for what, reasons in (("wrong", one.wrong), ("not seen", one.missing)):
            for reason, count in list(reasons.items())[:MOST_REASONS]:
                print(f"  {what}, {count}: {reason}")
    if not agreements:
        print("Dispatch was not checked: there is no wrapper.")
    print(NOT_RUN)


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
    if line.measured is not None and line.measured.route == "Tile IR":
        return "; ".join(("from its Tile IR", *line.why))[:160]
    if line.measured is not None and not line.measured.translated:
        return "; ".join(("more like a transcript than a translation", *line.why))[:160]
    return "; ".join(line.why)[:160]
