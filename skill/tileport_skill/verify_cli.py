"""`tileport-skill verify`: the table of compiled kernels and verdicts."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.tileir.verdicts import Unknown
from tileport_skill.verify import BUDGET, Row, exit_status, verify
from tileport_skill.verify_page import grouped, page

Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout, or of an unpacked wheel.")]
Archs = Annotated[list[str], typer.Option("--arch", help="An architecture, sm_90 or sm_100; may be repeated.")]
Program = Annotated[Path | None, typer.Option("--emitter", help="The emitter program; built if not given.")]
Library = Annotated[
    Path | None,
    typer.Option("--library", help="The built libcutile_kernels.so: compare what its own launcher launches."),
]
Tuning = Annotated[bool, typer.Option(help="Compare every configuration of the tuning space too.")]
Awkward = Annotated[
    bool,
    typer.Option("--awkward", help="Also what the tests' calls launch with strided, odd and misaligned inputs."),
]
Sample = Annotated[int | None, typer.Option(min=1, help="Compare only so many of each architecture's kernels.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="For the interpreter, for one pair of kernels.")]
Assembling = Annotated[float, typer.Option(min=1, help="Seconds for tileiras, for one kernel.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="Assemble only what the graphs cannot show equal: equal results, any speed.")
]
Html = Annotated[Path | None, typer.Option(help="Write the table with all differences as a page.")]
Json = Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")]


def add_commands(app: typer.Typer) -> None:
    app.command("verify")(verify_command)


def verify_command(
    operator: str,
    repo: Repo = Path(),
    arch: Archs = ["sm_90"],  # noqa: B006 - typer copies it
    emitter: Program = None,
    library: Library = None,
    tuning: Tuning = True,
    awkward: Awkward = False,
    sample: Sample = None,
    seconds: Seconds = BUDGET.seconds,
    assembling: Assembling = BUDGET.assembling,
    quick: Quick = False,
    as_json: Json = False,
    html: Html = None,
) -> None:
    """Compare every compiled kernel of a port with the reference's; worst first.

    Exit status: 0 all equal, 10 one differs, 11 one is not known to be equal, 12 bad request, 13 our machinery.
    """
    checkout = open_checkout(repo)
    found = find_operator(read_operators(checkout), operator)
    program = None if library else Emitter(emitter or built_emitter())
    with tempfile.TemporaryDirectory(prefix="tileport-verify-") as folder:
        budget = replace(BUDGET, seconds=seconds, assembling=assembling, any_speed=quick)
        rows = verify(
            checkout,
            found,
            arch,
            Path(folder),
            program,
            library,
            tuning=tuning,
            again=awkward,
            sample=sample,
            budget=budget,
        )
    if html is not None:
        html.write_text(page(found.name, rows), encoding="utf-8")
    if as_json:
        print(json.dumps(TypeAdapter(tuple[Row, ...]).dump_python(rows, mode="json"), indent=1))
    else:
        _print(rows)
    raise typer.Exit(exit_status(rows))


def _print(rows: tuple[Row, ...]) -> None:
    table = Table("arch", "kernel", "entry", "verdict", "compiled kernels", "why", box=None)
    for group in grouped(rows):
        entries = ", ".join(sorted({row.entry or "-" for row in group.rows}))
        why = f"{group.why} {agreed(group.rows)}".strip()
        table.add_row(group.arch, group.kernel, entries, group.verdict, str(len(group.rows)), escape(why[:300]))
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    other = sum(not row.same_assumptions for row in rows if row.counts)
    if other:
        console.print(
            f"For {other} of them the port's launcher assumes other true facts, or has no word for a hint, so the "
            "reference was compiled under the port's assumptions. That shows equal results, not equal speed."
        )
    lost = sorted({hint for row in rows if row.counts for hint in row.lost_hints})
    if lost:
        console.print(f"Hints of the reference that cuTile Rust cannot express: {', '.join(lost)}.")


def agreed(rows: tuple[Row, ...]) -> str:
    """How many inputs the undecided rows agree on."""
    counts = sorted(row.verdict.tested for row in rows if isinstance(row.verdict, Unknown) and row.verdict.tested)
    return f"{counts[0]} to {counts[-1]} inputs agreed." if counts else ""
