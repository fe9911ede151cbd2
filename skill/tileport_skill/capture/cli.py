"""`tileport-skill capture` and `show`: run tests without a GPU, write what they launch, print it for people."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tileport_skill.capture.analysis import Analysis, Variant, analyse
from tileport_skill.capture.cache import cache_folder
from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture, read_capture
from tileport_skill.capture.triton import read_dump
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, Operator, find_operator, open_checkout, read_operators
from tileport_skill.tilegym.suites import read_suites

Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout, or of an unpacked wheel.")]
Archs = Annotated[
    list[str], typer.Option("--arch", help="sm_90, sm_100, sm_120, or h200, b200, rtx-pro-6000; may be repeated.")
]
Out = Annotated[Path | None, typer.Option("--out", help="Where results go; default: the cache.")]
Names = Annotated[
    list[str] | None,
    typer.Argument(help="Names as TileGym dispatches them: rms_norm, or liger.softmax for one of a suite."),
]
Name = Annotated[str, typer.Argument(help="A name as TileGym dispatches it: rms_norm, or liger.softmax of a suite.")]
Json = Annotated[bool, typer.Option("--json", help="Print the analysis as JSON.")]
Dump = Annotated[
    Path | None,
    typer.Option(
        "--triton-dump", help="A folder of Tile IR bytecode kept from Triton's backend; tried on no real one yet."
    ),
]
Captured = Annotated[
    Path | None,
    typer.Option("--captured", help="FOLDER/facts of a port by roles: shown without running the tests again."),
]
Every = Annotated[
    bool, typer.Option("--all", help="Every operator of the checkout, and of its suites where they have tests.")
]
ARCHS = ["sm_90"]


def add_commands(app: typer.Typer) -> None:
    app.command("capture")(capture_command)
    app.command("show")(show_command)


def capture_command(
    operators: Names = None,
    every: Every = False,
    repo: Repo = Path(),
    arch: Archs = ARCHS,
    out: Out = None,
    triton_dump: Dump = None,
    as_json: Json = False,
) -> None:
    """Run operators' tests without a GPU; write capture.json per architecture and analysis.json per operator."""
    checkout = open_checkout(repo)
    suites = read_suites(checkout)
    found = (*read_operators(checkout), *suites)
    chosen = [find_operator(found, name) for name in operators or ()]
    if every:
        chosen = [operator for operator in found if operator.tests or operator not in suites]
    if not chosen:
        raise RequestError("Name at least one operator, or give --all. `tileport ops` lists them.")
    done = []
    for operator in chosen:
        try:
            done.append(_captured(checkout, operator, arch, out, triton_dump))
        except RequestError as error:
            if len(chosen) == 1:
                raise
            print(f"{operator.name}: {error}", file=sys.stderr)
    if as_json:
        document = TypeAdapter(list[Analysis]).dump_python([analysis for analysis, _ in done], mode="json")
        print(json.dumps(document, indent=1))
    else:
        _print_summary(done)


def show_command(
    operator: Name, repo: Repo = Path(), arch: Archs = ARCHS, out: Out = None, captured: Captured = None
) -> None:
    """Print the variants of one operator and what its tests launch."""
    checkout = open_checkout(repo)
    found = find_operator((*read_operators(checkout), *read_suites(checkout)), operator)
    if captured is None:
        analysis, captures = _captured(checkout, found, arch, out)
    else:
        captures = tuple(map(read_capture, sorted(captured.glob("*/capture.json"))))
        if not captures:
            raise RequestError(f"{captured} holds no ARCH/capture.json. A role's check writes them to FOLDER/facts.")
        analysis = analyse(checkout, found, captures)
    console = _console()
    console.print(_variants(analysis))
    console.print(_selectors(analysis))
    console.print(_host(analysis))
    for sequence in analysis.sequences:
        if len(sequence.kernels) > 1:
            console.print(escape(f"{sequence.calls} calls launch {', then '.join(sequence.kernels)}"))
    for one in captures:
        console.print(_launches(one))
    for line in analysis.failures:
        console.print(escape(f"not captured: {line}"))
    if analysis.unlaunched:
        console.print(f"launched by no test: {', '.join(analysis.unlaunched)}")


def _captured(
    checkout: Checkout, operator: Operator, archs: list[str], out: Path | None, triton_dump: Path | None = None
) -> tuple[Analysis, tuple[Capture, ...]]:
    folder = (out or cache_folder("captures")) / operator.name
    captures = capture(checkout, [operator], archs, folder, for_ports=False)
    analysis = analyse(checkout, operator, captures, read_dump(triton_dump) if triton_dump else ())
    adapter = TypeAdapter(Analysis)
    (folder / "analysis.json").write_bytes(adapter.dump_json(analysis, indent=1) + b"\n")
    (folder / "analysis.schema.json").write_text(json.dumps(adapter.json_schema(), indent=1) + "\n", encoding="utf-8")
    return analysis, captures


def _print_summary(done: list[tuple[Analysis, tuple[Capture, ...]]]) -> None:
    titles = "operator arch passed skipped failed launches tuned specialisations refused seconds"
    table = Table(*titles.split(), box=None)
    for analysis, captures in done:
        for captured in captures:
            status = Counter(test.status for test in captured.tests)
            purposes = Counter(launch.purpose for launch in captured.launches)
            refused = sum(s.refused is not None for s in captured.specialisations)
            counts = (status["passed"], status["skipped"], status["failed"], purposes["launch"], purposes["tune"])
            cells = (*counts, len(captured.specialisations), refused, captured.seconds)
            table.add_row(analysis.operator, captured.arch, *map(str, cells))
    _console().print(table)
    for analysis, _ in done:
        for line in analysis.failures:
            print(f"not captured: {line}")
        for variant in analysis.variants:
            for reason in variant.refused:
                print(f"refused: {variant.kernel}: {reason}")
        if analysis.idle:
            print(f"{analysis.operator}: {len(analysis.idle)} tests launch nothing, {analysis.idle[0]} the first")
        if analysis.unlaunched:
            print(f"{analysis.operator}: launched by no test: {', '.join(analysis.unlaunched)}")


def _variants(analysis: Analysis) -> Table:
    table = Table("kernel", "grid", "arrays", "const generics", "tuned hints", title=analysis.operator, box=None)
    for variant in analysis.variants:
        arrays = "; ".join(f"{p.name}: {'/'.join(p.types)}" for p in variant.parameters if p.kind == "array")
        varying = ", ".join(p.name for p in variant.parameters if len(p.values) > 1)
        grid = ", ".join(word or "?" for word in variant.grid)
        table.add_row(variant.kernel, f"({grid})", arrays, varying, _hints(variant))
    return table


def _selectors(analysis: Analysis) -> Table:
    table = Table("kernel", "is selected by", title="learnt from the captured calls, not read in the source", box=None)
    for variant in analysis.variants:
        for selector in variant.selected_by:
            table.add_row(variant.kernel, escape(str(selector)))
    return table


def _host(analysis: Analysis) -> Table:
    """What a port's host must do too; views are not in it."""
    titles = ("kernel", "", "operation", "first seen as", "feeds", "launches", "line")
    table = Table(*titles, title="host work around the launches", box=None)
    for variant in analysis.variants:
        for work in variant.host:
            of = f"{variant.kernel}."
            feeds = [name.removeprefix(of) for name in work.feeds]
            feeds = feeds or [f"reads {name.removeprefix(of)}" for name in work.takes]
            launches = f"{work.launches} of {variant.launches}"
            line = work.where.rpartition("/")[2]
            cells = (variant.kernel, work.place, work.operation, work.types[0], ", ".join(feeds), launches, line)
            table.add_row(*map(escape, cells))
    return table


def _hints(variant: Variant) -> str:
    return "; ".join(f"{space.arch}: {len(space.hints)}" for space in variant.tuning)


def _launches(captured: Capture) -> Table:
    table = Table("test", "status", "launches", "configurations", title=captured.arch, box=None)
    for test in captured.tests:
        table.add_row(escape(test.id.split("::", 1)[-1]), test.status, str(test.launches), str(test.configurations))
    return table


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 180)
