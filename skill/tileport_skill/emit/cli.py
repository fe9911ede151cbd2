"""`tileport-skill emit`: the Tile IR of a port's kernel for everything its reference launches."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tileport_skill.capture.cache import cache_folder
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture, read_capture
from tileport_skill.emit.bindings import OURS, read_bindings
from tileport_skill.emit.entries import Problem
from tileport_skill.emit.program import Emitter, build_emitter
from tileport_skill.emit.requests import Asked, requests_for
from tileport_skill.emit.rules import explained
from tileport_skill.emit.rust import MINIMUM, ensure_rust
from tileport_skill.emit.tools import cuda_folder
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, Operator, find_operator, open_checkout, read_operators
from tileport_skill.tilegym.port_files import port_files

Repo = Annotated[Path, typer.Option("--repo", help="Root of a TileGym checkout, or of an unpacked wheel.")]
Archs = Annotated[list[str], typer.Option("--arch", help="sm_90, sm_100 or sm_120; may be repeated.")]
Name = Annotated[str, typer.Argument(help="The operator whose port it is, as TileGym dispatches it: rms_norm.")]
Kernel = Annotated[Path | None, typer.Option("--kernel", help="A kernel.rs elsewhere than in the checkout.")]
Program = Annotated[Path | None, typer.Option("--emitter", help="The emitter program; built if not given.")]
Out = Annotated[Path, typer.Option("--out", help="Where the bytecode goes.")]
Captured = Annotated[
    Path | None, typer.Option("--captured", help="What `capture --out` wrote: then the tests do not run again.")
]
Bound = Annotated[
    Path | None, typer.Option("--binding", help="A table of what a launcher passes; see emit/tilegym_ports.toml.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
ARCHS = ["sm_90"]
FAILED = 10


def add_commands(app: typer.Typer) -> None:
    app.command("emit")(emit_command)


def built_emitter() -> Path:
    """The one that `TILEPORT_EMITTER` names, or the one in the cache, built now if it is not there yet."""
    if os.environ.get("TILEPORT_EMITTER"):
        return Path(os.environ["TILEPORT_EMITTER"])
    rust = ensure_rust(MINIMUM, cache_folder())
    environment = rust.environment(cache_folder("cargo"))
    return build_emitter(cache_folder(), cargo=rust.cargo, cuda=cuda_folder(), environment=environment)


def emit_command(
    operator: Name,
    repo: Repo = Path(),
    arch: Archs = ARCHS,
    kernel: Kernel = None,
    emitter: Program = None,
    out: Out = Path("emitted"),
    captured: Captured = None,
    binding: Bound = None,
    as_json: Json = False,
) -> None:
    """Emit a port's Tile IR for every captured launch, without a build. Exit status 10 if something fails."""
    checkout = open_checkout(repo)
    found = find_operator(read_operators(checkout), operator)
    source = kernel or checkout.root / port_files(checkout, found).kernel
    if not source.is_file():
        raise RequestError(f"{source} does not exist. {operator} has no port here; name a kernel.rs with --kernel.")
    bindings = (*(read_bindings(binding) if binding else ()), *read_bindings(OURS))
    program = Emitter(emitter or built_emitter())
    modules = program.describe(source)
    if isinstance(modules, Problem):
        raise RequestError(f"{source}: {explained(modules)}")
    out.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, str]] = []
    for one_arch in _captures(checkout, found, arch, out, captured):
        asked = requests_for(one_arch, modules, bindings)
        started = time.monotonic()
        answers = iter(program.emit(source, [one.request for one in asked if one.request is not None]))
        for one in asked:
            answer = next(answers) if one.request is not None else None
            path = out / f"{one_arch.arch}-{one.launch.specialisation}-{len(lines)}.tileirbc"
            if answer is not None and answer.bytecode is not None:
                path.write_bytes(answer.bytecode)
            problem = answer.problem if answer is not None else Problem(kind="request", message=one.reason)
            lines.append(_line(one_arch.arch, one, path, problem))
        seconds = time.monotonic() - started
        print(f"{one_arch.arch}: {seconds:.1f} s for {len(asked)} kernels", file=sys.stderr)
    print(json.dumps(lines, indent=1)) if as_json else _print(lines)
    raise typer.Exit(FAILED if any(line["problem"] for line in lines) else 0)


def _captures(
    checkout: Checkout, operator: Operator, archs: list[str], out: Path, captured: Path | None
) -> tuple[Capture, ...]:
    if captured is None:
        return capture(checkout, [operator], archs, out / "capture", for_ports=False)
    paths = [captured / operator.name / profile_of(arch).arch / "capture.json" for arch in archs]
    for path in paths:
        if not path.is_file():
            raise RequestError(f"{path} does not exist. Capture with `--out {captured}` first.")
    return tuple(map(read_capture, paths))


def _line(arch: str, one: Asked, path: Path, problem: Problem | None) -> dict[str, str]:
    return {
        "arch": arch,
        "kernel": one.launch.kernel,
        "specialisation": one.launch.specialisation,
        "entry": "" if one.request is None else one.request.entry,
        "generics": "" if one.request is None else ", ".join(one.request.generics),
        "file": "" if problem else path.name,
        "problem": "" if problem is None else explained(problem),
    }


def _print(lines: list[dict[str, str]]) -> None:
    """One row for each kernel; each problem once, with how many kernels have it. `--json` has every line."""
    asked = Counter((line["arch"], line["kernel"], line["entry"]) for line in lines)
    emitted = Counter((line["arch"], line["kernel"], line["entry"]) for line in lines if not line["problem"])
    table = Table("arch", "kernel", "entry", "asked", "emitted", box=None)
    for key, count in asked.items():
        table.add_row(*key, str(count), str(emitted[key]))
    Console(width=None if sys.stdout.isatty() else 180).print(table)
    problems = Counter((line["arch"], line["kernel"], line["problem"]) for line in lines if line["problem"])
    for (arch, kernel, problem), count in problems.items():
        print(f"not emitted: {count} of {kernel} ({arch}): {problem}")
