"""`tileport-skill tune`: finds a better choice for an operator's kernels, or judges what was measured elsewhere."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from tileport_skill.capture.profiles import profile_of
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, find_operator, open_checkout, read_operators
from tileport_skill.timing import gate
from tileport_skill.timing.raw import read_json
from tileport_skill.tuning import report
from tileport_skill.tuning.campaign import Campaign, package_root
from tileport_skill.tuning.folder import TuningFolder
from tileport_skill.tuning.judged import judged
from tileport_skill.tuning.pack import pack
from tileport_skill.tuning.shapes import tunable
from tileport_skill.tuning.table import write_table
from tileport_skill.tuning.tune import MINUTES, Prepared, lay_out, prepare

INCONCLUSIVE = 11

Operators = Annotated[list[str] | None, typer.Argument(help="Operators to tune; all of the folder's with --from.")]
Every = Annotated[bool, typer.Option("--all", help="Every operator of the checkout that tuning/shapes.toml names.")]
Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout, or of an unpacked wheel.")]
Arch = Annotated[str, typer.Option("--arch", help="sm_90, sm_100 or sm_120.")]
Minutes = Annotated[float, typer.Option("--budget", min=0.5, help="Minutes that one operator may take on the CPU.")]
Raw = Annotated[
    Path | None, typer.Option("--raw", help="Folder of plan and samples; given again, a broken-off run is continued.")
]
Pack = Annotated[Path | None, typer.Option("--pack", help="Write a folder that a machine with a GPU tunes from.")]
From = Annotated[Path | None, typer.Option("--from", help="Measure nothing: judge what this folder holds.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write tables and the report into this folder.")]
Seconds = Annotated[float, typer.Option(help="Wall time of measuring; what is missing then is measured next time.")]
Workers = Annotated[int, typer.Option(min=0, help="Compilers at a time; 0 takes what the machine has.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def add_commands(app: typer.Typer) -> None:
    app.command("tune")(tune)


def tune(
    operators: Operators = None,
    every: Every = False,
    repo: Repo = Path(),
    arch: Arch = "sm_90",
    budget: Minutes = MINUTES,
    raw: Raw = None,
    folder: Pack = None,
    earlier: From = None,
    out: Out = None,
    seconds: Seconds = 3600.0,
    workers: Workers = 0,
    as_json: Json = False,
) -> None:
    """Tune an operator: all of its candidates compiled on the CPU, then measured against the reference on a GPU.

    Exit status: 0 measured and judged, 11 not measured (no GPU, or time ran out; it says what to do), 12 bad request,
    13 our machinery.
    """
    if earlier is not None:
        _report(TuningFolder(earlier), operators or (), out, as_json)
        return
    if not operators and not every:
        raise RequestError("Name the operators to tune, or --all, or a folder of samples with --from.")
    checkout = open_checkout(repo)
    profile = profile_of(arch)
    known = read_operators(checkout)
    found = [one for one in known if one.name in tunable()] if every else []
    found = found or [find_operator(known, name) for name in operators or ()]
    prepared = [prepare(checkout, one, profile.arch, budget, workers=workers, say=_say) for one in found]
    where = raw or Path(tempfile.mkdtemp(prefix="tileport-tune-"))
    laid = lay_out(prepared, profile.arch, where)
    _print_prepared(prepared, as_json)
    if folder is not None:
        size = pack(checkout, laid.root, folder)
        _say(
            f"{folder} holds {size / 2**20:.1f} MiB: carry it to a machine with a GPU, `sh run.sh`, carry tuning/ back."
        )
    _measure(checkout, laid, [one.name for one in found], seconds, out, as_json)


def _measure(
    checkout: Checkout, folder: TuningFolder, operators: Sequence[str], seconds: float, out: Path | None, as_json: bool
) -> None:
    if (lacking := gate.missing()) is not None:
        _say(f"Not measured: {lacking} `--pack FOLDER` carries it to one; the plan is in {folder.root}.")
        raise typer.Exit(INCONCLUSIVE)
    if not Campaign(folder, package_root(checkout.root), seconds, _say).run(operators):
        _say(f"{seconds:.0f} s were too short; run the same with --raw {folder.root}, and it goes on where it was.")
        raise typer.Exit(INCONCLUSIVE)
    _report(folder, operators, out, as_json)


def _report(folder: TuningFolder, operators: Sequence[str], out: Path | None, as_json: bool) -> None:
    if not folder.plan.is_file():
        raise RequestError(f"{folder.root} is no folder of a tuning: it has no plan.json.")
    tunings = [judged(folder, operator) for operator in operators or read_json(folder.plan)["operators"]]
    if as_json:
        print(json.dumps([report.summary(one) for one in tunings], indent=1))
    else:
        report.show(Console(width=None if sys.stdout.isatty() else 180), tunings)
    if out is not None:
        for one in tunings:
            write_table(one.table, out / f"{one.operator}.{one.arch}.json")
        (out / "report.html").write_text(report.page(tunings), encoding="utf-8")
        (out / "ratios.svg").write_text(report.ratios(tunings), encoding="utf-8")


def _print_prepared(prepared: Sequence[Prepared], as_json: bool) -> None:
    if as_json:
        print(json.dumps([_plain(one) for one in prepared], indent=1))
        return
    grid = Grid("operator", "candidates", "kernels", "assembled", "contenders", "cubins", "MiB", "s", box=None)
    for one in prepared:
        took = one.capture_seconds + one.assemble_seconds
        numbers = (one.tried, one.kernels, one.assembled, one.plan.contenders, one.cubins)
        grid.add_row(one.operator, *map(str, numbers), f"{one.carried_bytes / 2**20:.1f}", f"{took:.0f}")
    console = Console(width=None if sys.stdout.isatty() else 180)
    console.print(grid)
    for one in prepared:
        for why, count in Counter(_kind(reason) for _, _, reason in one.plan.dropped).most_common(8):
            console.print(f"{one.operator}: {count} left out: {escape(why)}", highlight=False)


def _plain(one: Prepared) -> dict[str, Any]:
    names = ("operator", "tried", "kernels", "assembled", "cubins", "carried_bytes")
    times = ("capture_seconds", "assemble_seconds", "compiler_seconds")
    return {
        **{name: getattr(one, name) for name in (*names, *times)},
        "contenders": one.plan.contenders,
        "dropped": [list(line) for line in one.plan.dropped],
    }


def _kind(reason: str) -> str:
    """A reason without what differs from candidate to candidate."""
    if reason.startswith("the same cubin"):
        return "the same cubin and grid as another"
    return "".join("N" if letter.isdigit() else letter for letter in reason)[:100].replace("NN", "N").replace("NN", "N")


def _say(text: str) -> None:
    print(text, file=sys.stderr)
