"""`tileport-skill ir …`: compare two kernels, or run one, from the shell."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console

from tileport_skill.errors import RequestError
from tileport_skill.tileir.interpret import Limits
from tileport_skill.tileir.ladder import Source, compare_sources, read_source
from tileport_skill.tileir.launch import Buffer
from tileport_skill.tileir.parse import parse
from tileport_skill.tileir.records import Entry
from tileport_skill.tileir.replay import replay
from tileport_skill.tileir.search import Budget
from tileport_skill.tileir.side_by_side import side_by_side
from tileport_skill.tileir.verdicts import Difference, Different, Equal, Unknown, Verdict

ONE_BLOCK = "seed=0 style=grid grid=1,1,1"
EQUAL, DIFFERENT, UNKNOWN, UNREADABLE = 0, 10, 11, 12

ir_app = typer.Typer(no_args_is_help=True, help="Read, compare and run Tile IR.")

_VERDICT: TypeAdapter[Verdict] = TypeAdapter(Verdict)
_COLOUR = {"wrong": "red", "unsound": "magenta", "slow": "yellow", "note": "dim"}


@ir_app.command("compare")
def compare_command(
    a: Annotated[Path, typer.Argument(help="The reference: bytecode, or text as tileirdisasm prints it.")],
    b: Annotated[Path, typer.Argument(help="The port, exported under the same entry symbol.")],
    arch: Annotated[str | None, typer.Option(help="Assemble both for this one, e.g. sm_90.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict as one JSON document.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write both texts side by side into this file.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Assemble only what the graphs cannot show equal: equal results, any speed.")
    ] = False,
) -> None:
    """Are two kernels the same? Exit 0 equal, 10 different, 11 unknown, 12 unreadable input."""
    try:
        sources = [_source(path) for path in (a, b)]
    except RequestError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(UNREADABLE) from None
    verdict = compare_sources(sources[0], sources[1], arch, Budget(any_speed=quick))
    if html is not None:
        html.write_text(side_by_side(verdict, sources[0].text, sources[1].text), encoding="utf-8")
    if json:
        typer.echo(as_json(verdict))
    else:
        _show(verdict, Console(highlight=False))
    raise typer.Exit(exit_code(verdict))


@ir_app.command("run")
def run_command(
    kernel: Annotated[Path, typer.Argument(help="Bytecode, or text as tileirdisasm prints it.")],
    inputs: Annotated[str, typer.Option(help="An input in the words of a witness.")] = "seed=0 style=grid grid=1,1,1",
    like: Annotated[
        Path | None, typer.Option(help="Lay the arrays out as this kernel uses them, e.g. the reference.")
    ] = None,
    operations: Annotated[int, typer.Option(help="Give up after so many.")] = 2_000_000,
) -> None:
    """Runs a kernel on NumPy and says what it did. Exit 0 clean, 10 with findings, 12 unreadable input."""
    try:
        entry, model = (_only_entry(path) for path in (kernel, like or kernel))
        limits = Limits(operations=operations, blocks=4096)
        launch, outcome = replay(entry, model, inputs, limits)
    except RequestError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(UNREADABLE) from None
    for argument, given in zip(entry.arguments, launch.arguments, strict=True):
        said = f"{given.data.size} × {given.data.dtype}" if isinstance(given, Buffer) else given
        typer.echo(f"{argument.name} = {said}")
    for written in outcome.buffers:
        count = int(written.touched.sum())
        if count:
            shown = ", ".join(str(value) for value in written.data[:8])
            typer.echo(f"{written.name}: {count} elements written; begins {shown}")
    for found in outcome.findings:
        typer.echo(f"{found.kind}: {found.text} (block {found.block}, {found.operation}, line {found.line})")
    raise typer.Exit(DIFFERENT if outcome.findings else EQUAL)


def as_json(verdict: Verdict) -> str:
    """One document with the same keys for every verdict."""
    document: dict[str, object] = {
        "verdict": verdict.verdict,
        "proof": None,
        "witness": None,
        "reasons": [],
        "tested": 0,
    }
    return json_module.dumps(document | _VERDICT.dump_python(verdict, mode="json"), indent=2)


def _only_entry(path: Path) -> Entry:
    entries = parse(_source(path).text).entries
    if len(entries) != 1:
        raise RequestError(f"{path} holds {len(entries)} entries; exactly one can be run.")
    return entries[0]


def exit_code(verdict: Verdict) -> int:
    """What a shell sees of `verdict`."""
    if isinstance(verdict, Equal):
        return EQUAL
    return DIFFERENT if isinstance(verdict, Different) else UNKNOWN


def _source(path: Path) -> Source:
    """What the file holds. Text must parse; what bytecode says that we do not know can still be assembled."""
    try:
        source = read_source(path.read_bytes())
        if source.bytecode is None:
            parse(source.text)
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}") from error
    except RequestError as error:
        raise RequestError(f"{path}: {error}") from error
    return source


def _show(verdict: Verdict, console: Console) -> None:
    if isinstance(verdict, Equal):
        console.print(f"[green]equal[/] ({verdict.proof.rung}): {verdict.proof.text}")
        if verdict.proof.rules:
            console.print(f"  rules: {', '.join(verdict.proof.rules)}")
        if verdict.proof.over_reals:
            console.print("  Over the real numbers: results may differ by rounding.")
        for condition in verdict.proof.while_true:
            console.print(f"  While {condition}.")
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
