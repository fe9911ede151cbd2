"""Commands for the batch workflow: what is to be ported, the event of one operator, and the table at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tileport_bot.code_cli import EventFile, Repo, read_json, told
from tileport_skill.errors import RequestError
from tileport_skill.pages.markdown import cell, code, plain
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators


def add_commands(app: typer.Typer) -> None:
    app.command("batch-plan", hidden=True)(plan_command)
    app.command("batch-event", hidden=True)(event_command)
    app.command("batch-table", hidden=True)(table_command)


def plan_command(event: EventFile, repo: Repo = Path()) -> None:
    """Print the operators as a JSON list: those of the event's input, or with `all` every one that has no port."""
    told(lambda: typer.echo(json.dumps(planned(_asked(read_json(event)), repo))))


def planned(asked: str, repo: Path) -> list[str]:
    """Raises `RequestError` for a name that is none."""
    operators = read_operators(open_checkout(repo))
    names = asked.replace(",", " ").split()
    if [name.casefold() for name in names] == ["all"]:
        return [operator.name for operator in operators if not operator.ported]
    return list(dict.fromkeys(find_operator(operators, name).name for name in names))


def event_command(event: EventFile, operator: Annotated[str, typer.Argument()]) -> None:
    """Print the event as it would be for one operator alone."""

    def work() -> None:
        payload = read_json(event)
        typer.echo(json.dumps({**payload, "inputs": {**(payload.get("inputs") or {}), "operators": operator}}))

    told(work)


def table_command(
    folder: Annotated[Path, typer.Argument(help="Where each job's line lies.")],
    planned: Annotated[str, typer.Option(help="The operators as a JSON list.")],
) -> None:
    """Print how each operator ended, as a Markdown table; one without a line is one whose job broke down."""
    told(lambda: typer.echo(table(json.loads(planned), lines_in(folder))))


def lines_in(folder: Path) -> dict[str, str]:
    lines = [path.read_text(encoding="utf-8").strip() for path in sorted(folder.rglob("line.txt"))]
    return {operator: line for operator, _, line in (text.partition("\t") for text in lines)}


def table(operators: list[str], lines: dict[str, str]) -> str:
    rows = [
        f"| {cell(code(operator))} | {cell(plain(lines.get(operator) or 'no word: see the log of its job'))} |"
        for operator in operators
    ]
    return "\n".join(["| operator | how it ended |", "|---|---|", *rows]) if rows else "Every operator has a port."


def _asked(payload: dict[str, Any]) -> str:
    inputs = payload.get("inputs")
    asked = inputs.get("operators") if isinstance(inputs, dict) else None
    if not isinstance(asked, str) or not asked.strip():
        raise RequestError("The event has no input `operators`; give `all`, or names with spaces or commas between.")
    return asked
