"""`tileport-skill ir …`: compare two kernels from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console

from tileport_skill.errors import RequestError
from tileport_skill.tileir.ladder import compare_sources, read_source
from tileport_skill.tileir.verdicts import Difference, Different, Equal, Unknown, Verdict

EQUAL, DIFFERENT, UNKNOWN, UNREADABLE = 0, 10, 11, 12

ir_app = typer.Typer(no_args_is_help=True, help="Read, compare and run Tile IR.")

_VERDICT: TypeAdapter[Verdict] = TypeAdapter(Verdict)
_COLOUR = {"wrong": "red", "unsound": "magenta", "slow": "yellow", "note": "dim"}


@ir_app.callback()
def _ir() -> None:
    """Keeps `compare` a command of its own while it is the only one."""


@ir_app.command("compare")
def compare_command(
    a: Annotated[Path, typer.Argument(help="The reference: bytecode, or text as tileirdisasm prints it.")],
    b: Annotated[Path, typer.Argument(help="The port, exported under the same entry symbol.")],
    arch: Annotated[str | None, typer.Option(help="Assemble both for this one, e.g. sm_90.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON document.")] = False,
) -> None:
    """Are two kernels the same? Exit 0 equal, 10 different, 11 unknown, 12 unreadable input."""
    try:
        verdict = compare_sources(read_source(_content(a)), read_source(_content(b)), arch)
    except RequestError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(UNREADABLE) from None
    if json:
        typer.echo(_VERDICT.dump_json(verdict, indent=2).decode())
    else:
        _show(verdict, Console(highlight=False))
    raise typer.Exit(exit_code(verdict))


def exit_code(verdict: Verdict) -> int:
    """What a shell sees of `verdict`."""
    if isinstance(verdict, Equal):
        return EQUAL
    return DIFFERENT if isinstance(verdict, Different) else UNKNOWN


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from error


def _show(verdict: Verdict, console: Console) -> None:
    if isinstance(verdict, Equal):
        console.print(f"[green]equal[/] ({verdict.proof.rung}): {verdict.proof.text}")
        if verdict.proof.rules:
            console.print(f"  rules: {', '.join(verdict.proof.rules)}")
        if verdict.proof.over_reals:
            console.print("  Over the real numbers: results may differ by rounding.")
    elif isinstance(verdict, Different):
        witness = verdict.witness
        console.print(f"[red]different[/] ({witness.kind}), shown by {witness.inputs} at {witness.where}:")
        console.print(f"  first:  {witness.a}\n  second: {witness.b}", markup=False)
    elif isinstance(verdict, Unknown):
        console.print(f"[yellow]unknown[/]; {verdict.tested} inputs agreed")
        for reason in verdict.reasons:
            console.print(f"  {reason}", markup=False)
    for difference in verdict.differences:
        _show_difference(difference, console)


def _show_difference(difference: Difference, console: Console) -> None:
    colour = _COLOUR[difference.severity]
    console.print(f"[{colour}]{difference.severity}[/] {difference.kind}: ", end="")
    console.print(difference.text, markup=False)
    for side, line in (("<", difference.a), (">", difference.b)):
        if line is not None:
            console.print(f"  {side} {line.number}: {line.text}", markup=False, soft_wrap=True)
