"""`tileport-skill bench`: times a port against its reference, or judges samples that were taken elsewhere."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console

from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators
from tileport_skill.timing import gate, picture, table
from tileport_skill.timing.plan import Budget
from tileport_skill.timing.records import Failed, NotRun, Passed, Timing

REJECTED, INCONCLUSIVE = 10, 11

Operators = Annotated[list[str] | None, typer.Argument(help="Operators to time; all of the folder's with --from.")]
Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout, or of an unpacked wheel, with ports.")]
Library = Annotated[
    Path | None, typer.Option("--library", help="The built libcutile_kernels.so, if not where cargo leaves it.")
]
Baseline = Annotated[
    str, typer.Option(help="What the port is held against: cutile, or triton (Triton-TileIR; unproven as yet).")
]
Candidate = Annotated[str, typer.Option(help="The port's backend.")]
Raw = Annotated[
    Path | None, typer.Option("--raw", help="Folder for raw samples; given again, a broken-off run is continued.")
]
From = Annotated[Path | None, typer.Option("--from", help="Measure nothing: judge the raw samples of this folder.")]
Processes = Annotated[int, typer.Option(min=2, help="Fresh processes that measure every row.")]
Most = Annotated[int, typer.Option(min=2, help="Fresh processes at most, for rows that are not decided by then.")]
Seconds = Annotated[float, typer.Option(help="Wall time it may take; what is missing then is measured next time.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Svg = Annotated[Path | None, typer.Option("--svg", help="Also draw the ratios into this file.")]


def add_commands(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    operators: Operators = None,
    repo: Repo = Path(),
    library: Library = None,
    baseline: Baseline = "cutile",
    candidate: Candidate = "cutile-rs",
    raw: Raw = None,
    earlier: From = None,
    processes: Processes = 8,
    most: Most = 16,
    seconds: Seconds = 3600.0,
    as_json: Json = False,
    svg: Svg = None,
) -> None:
    """Time a port against its reference on a GPU: paired, in fresh processes, judged row by row.

    A port passes when on every row the lower end of the 95 % interval of reference ÷ port is at least 0.95.

    Exit status: 0 passed, 10 a row failed, 11 inconclusive or not run, 12 bad request, 13 our machinery.
    """
    if earlier is not None:
        found: tuple[Timing, ...] | NotRun = gate.read(earlier, operators or ())
    else:
        checkout = open_checkout(repo)
        if not operators:
            raise RequestError("Name the operators to time, or a folder of samples with --from.")
        known = read_operators(checkout)
        request = gate.Request(
            checkout=checkout,
            operators=tuple(find_operator(known, operator).name for operator in operators),
            raw=raw or Path(tempfile.mkdtemp(prefix="tileport-bench-")),
            library=library,
            baseline=baseline,
            candidate=candidate,
            budget=Budget(processes=processes, most=most),
            seconds=seconds,
        )
        found = gate.run(request, say=lambda text: print(text, file=sys.stderr))
    _print(found, as_json)
    if svg is not None and not isinstance(found, NotRun):
        svg.write_text(picture.svg(found), encoding="utf-8")
    raise typer.Exit(_status(found))


def _print(found: tuple[Timing, ...] | NotRun, as_json: bool) -> None:
    if as_json:
        print(json.dumps(TypeAdapter(tuple[Timing, ...] | NotRun).dump_python(found, mode="json"), indent=1))
        return
    console = Console(width=None if sys.stdout.isatty() else 200)
    if isinstance(found, NotRun):
        table.show_not_run(console, found)
        return
    for timing in found:
        table.show(console, timing)


def _status(found: tuple[Timing, ...] | NotRun) -> int:
    if isinstance(found, NotRun):
        return INCONCLUSIVE
    verdicts = [timing.verdict for timing in found]
    if any(isinstance(verdict, Failed) for verdict in verdicts):
        return REJECTED
    return 0 if all(isinstance(verdict, Passed) for verdict in verdicts) else INCONCLUSIVE
