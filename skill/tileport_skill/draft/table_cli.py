"""`tileport-skill draft-table`: every operator drafted and checked without a build, and the table of it. Resumable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tileport_skill.draft.table import Asked, drafted_and_shown, make_table, totals
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

ALL_ARCHS = ["sm_90", "sm_100", "sm_120"]
Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout, or of an unpacked wheel.")]
Names = Annotated[list[str] | None, typer.Argument(help="Only these operators; else all of them.")]
Archs = Annotated[list[str], typer.Option("--arch", help="sm_90, sm_100 or sm_120; may be repeated.")]
Out = Annotated[Path, typer.Option("--out", help="The table's folder: table.md, table.json, a row and a draft each.")]
Seconds = Annotated[float, typer.Option(min=1, help="What one operator may take.")]
Declare = Annotated[bool, typer.Option("--declare", help="As for `draft`.")]


def add_commands(app: typer.Typer) -> None:
    app.command("draft-table")(table_command)


def table_command(
    operators: Names = None,
    repo: Repo = Path(),
    arch: Archs = ALL_ARCHS,
    out: Out = Path("drafts"),
    seconds: Seconds = 900.0,
    declare: Declare = False,
) -> None:
    """Draft every operator, also those that have a port, check kernels and dispatch, and write one table.

    Each operator has a process and a row of its own; asked again, what is there and up to date is kept. Exit status: 0
    every operator is drafted whole and all of it was shown equal, 11 not so, 12 bad request, 13 our machinery.
    """
    checkout = open_checkout(repo)
    known = read_operators(checkout)
    chosen = [find_operator(known, name) for name in operators] if operators else list(known)
    asked = Asked(checkout=checkout, archs=tuple(arch), out=out, seconds=seconds, declare=declare)
    rows = make_table(asked, chosen, lambda line: typer.echo(line))
    for name, count in totals(rows).items():
        typer.echo(f"{name}: {count}")
    typer.echo(f"The table lies in {out / 'table.md'}.")
    raise typer.Exit(0 if all(map(drafted_and_shown, rows)) else 11)
