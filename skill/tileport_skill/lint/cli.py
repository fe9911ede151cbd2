"""`tileport-skill lint`: the rules on a port's sources, as text, JSON or SARIF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import TypeAdapter

from tileport_skill.lint.ports import ports_at, shared_once
from tileport_skill.lint.records import Finding
from tileport_skill.lint.registry import RULES
from tileport_skill.lint.run import findings
from tileport_skill.lint.sarif import sarif

Where = Annotated[
    Path | None, typer.Argument(metavar="PATH", help="A checkout, its ops/cutile_rs, one x_kernel folder, or one file.")
]
Format = Annotated[Literal["text", "json", "sarif"], typer.Option("--format", help="How to print what is found.")]
List = Annotated[bool, typer.Option("--rules", help="Print the rules with their reasons, and look at nothing.")]
FOUND = 10


def add_commands(app: typer.Typer) -> None:
    app.command("lint")(lint_command)


def lint_command(path: Where = None, output: Format = "text", rules: List = False) -> None:
    """Hold a port's sources against the rules. Exit status 10 if an error is found; warnings alone leave it 0."""
    if rules:
        print("\n".join(f"{one.id} ({one.severity}): {one.says} {one.because}" for one in RULES))
        return
    where = path or Path()
    found = findings(shared_once(ports_at(where)))
    if where.is_file():
        found = [one for one in found if Path(one.path) == where]
    match output:
        case "text":
            print("\n".join(f"{one.path}:{one.line}: {one.severity}: {one.message} [{one.rule}]" for one in found))
        case "json":
            print(json.dumps(TypeAdapter(list[Finding]).dump_python(found, mode="json"), indent=1))
        case "sarif":
            print(json.dumps(sarif(found), indent=1))
    raise typer.Exit(FOUND if any(one.severity == "error" for one in found) else 0)
