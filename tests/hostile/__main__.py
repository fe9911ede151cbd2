"""`python -m tests.hostile PACKED OUT`: every port through the correctness run, several at a time, on one GPU.

PACKED is what `python -m tests.hostile.pack` makes. Needs the standard library and what a run needs: torch, pytest,
cuda-tile, cupti-python, tileiras. Prints as it goes; leaves `table.json` and a folder of evidence for each port.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hostile import one
from tests.hostile.all_ports import PORTS
from tests.hostile.catalogue import KERNEL, LAUNCHER, LIBRARY, PLACES, PORT, WRAPPER, Port, edited, files_of

REPOSITORY = Path(__file__).parents[2]
CASES = "tests/ops/test_silu_and_mul.py::Test_SiLUAndMul::test_op_irregular_shapes"
_SHARED = ("large",)
"""What cannot run while others use the GPU too."""
_KEPT = ("as-written",)
"""Ports whose bytecode is kept although nobody suspects it, to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What became of one port."""

    name: str
    kind: str
    gate: str
    expected: tuple[str, ...]
    fired: dict[str, str]
    """The checks that fired, with the first text of each."""
    right: bool | None
    """None where it was not run here."""
    why: str
    seconds: float


def main() -> int:
    options = _parser().parse_args()
    chosen = [port for port in PORTS if not options.only or port.name in options.only]
    if unknown := set(options.only or ()) - {port.name for port in PORTS}:
        print(f"No such port: {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    if problem := _problem(options):
        print(problem, file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    rows = _run_all(chosen, options, time.monotonic() + options.seconds)
    table = [dataclasses.asdict(row) for row in rows]
    (options.out / "table.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    wrong = [row for row in rows if row.right is False]
    ran = sum(row.right is not None for row in rows)
    print(f"\n{ran - len(wrong)} of {ran} right, {len(rows) - ran} not run here.")
    for row in wrong:
        print(f"WRONG {row.name}: {row.why}")
    return 1 if wrong or not ran else 0


def _problem(options: argparse.Namespace) -> str | None:
    """Why nothing can be run, in words."""
    if not options.tileiras:
        return "No tileiras here: pip install 'cuda-tile[tileiras]', or give its path with --tileiras."
    for name in (WRAPPER, KERNEL, LAUNCHER):
        packed = options.packed / "tree" / PLACES[name]
        if not packed.is_file() or packed.read_bytes() != (PORT / name).read_bytes():
            return f"{packed} is not the port in {PORT}: build and pack it anew (python -m tests.hostile.pack)."
    return None


def _run_all(chosen: list[Port], options: argparse.Namespace, deadline: float) -> list[Row]:
    started, rows = time.monotonic(), {}
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch, ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(_run_one, port, options, deadline, Path(scratch)): port for port in chosen}
        for future in as_completed(futures):
            row = rows[futures[future].name] = future.result()
            word = {True: "right", False: "WRONG", None: "-----"}[row.right]
            found = ", ".join(row.fired) or "nothing"
            print(f"{time.monotonic() - started:5.0f} s  {word}  {row.name:<28} {found}  ({row.why})", flush=True)
    return [rows[port.name] for port in chosen]


def _run_one(port: Port, options: argparse.Namespace, deadline: float, scratch: Path) -> Row:
    library = None
    if port.is_built:
        library = options.libraries / f"{port.name}.so" if options.libraries else None
        if library is None or not library.is_file():
            return _row(port, {}, None, "needs a library of its own: --libraries", 0.0)
    if time.monotonic() > deadline:
        return _row(port, {}, None, "no time was left", 0.0)
    started = time.monotonic()
    tree, out = scratch / port.name, options.out / port.name
    # Copies, not links: some of these ports write into their own tree.
    shutil.copytree(options.packed / "tree", tree, symlinks=True)
    _edit(tree, port)
    if library is not None:
        shutil.copyfile(library, tree / LIBRARY)
    job = scratch / f"{port.name}.json"
    job.write_text(json.dumps(_job(options, tree, library)), encoding="utf-8")
    _session(job, out, options, deadline)
    shutil.rmtree(tree, ignore_errors=True)
    found = _read(out / "problems.json")
    if port.gate != "bytecode" and port.name not in _KEPT:
        shutil.rmtree(out / "bytecode", ignore_errors=True)
    seconds = time.monotonic() - started
    if found is None:
        return _row(port, {}, False, "the run was stopped or broke down; see session.log", seconds)
    fired = {check: texts[0] for check, texts in found["fired"].items()}
    if found["broken"]:
        return _row(port, fired, False, found["broken"], seconds)
    right = port.is_understood_by(set(fired))
    return _row(port, fired, right, "as it must be" if right else _reason(port, fired), seconds)


def _edit(tree: Path, port: Port) -> None:
    for name, edits in files_of(port).items():
        path = tree / PLACES[name]
        path.write_text(edited(path.read_text(encoding="utf-8"), edits), encoding="utf-8")


def _job(options: argparse.Namespace, tree: Path, library: Path | None) -> dict[str, Any]:
    """The packed job, for this tree, untuned, cut to a few cases, with a seed of its own."""
    document = json.loads((options.packed / "job.json").read_text(encoding="utf-8"))
    if library is not None:
        document["library_sha256"] = hashlib.sha256(library.read_bytes()).hexdigest()
    return dict(
        document
        | {
            "base": str(options.packed / "base"),
            "tree": str(tree),
            "tests_root": str(options.packed / "tests_root"),
            "tests": list(options.tests),
            "tuned": False,
            "seed": secrets.randbelow(1 << 31),
            "without": _SHARED,
        }
    )


def _session(job: Path, out: Path, options: argparse.Namespace, deadline: float) -> None:
    """In a process group of its own, so that everything it started can be ended with it."""
    out.mkdir(parents=True, exist_ok=True)
    left = max(1.0, deadline - time.monotonic())
    side = min(options.side_seconds, left)
    command = [sys.executable, "-m", one.__name__, str(job), str(out), str(options.tileiras), str(side)]
    # Not this repository itself: its package `tests` is not the one whose cases are run.
    environment = dict(os.environ) | {"PYTHONPATH": f"{REPOSITORY / 'skill'}:{os.environ.get('PYTHONPATH', '')}"}
    with (out / "session.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            process.wait(left)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _read(path: Path) -> dict[str, Any] | None:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def _reason(port: Port, fired: dict[str, str]) -> str:
    missing = [check for check in port.rejected_by if check not in fired]
    extra = [check for check in fired if check not in (*port.rejected_by, *port.also)]
    words = [f"{', '.join(missing)} did not fire"] if missing else []
    words += [f"{check} fired: {fired[check][:200]}" for check in extra]
    return "; ".join(words)


def _row(port: Port, fired: dict[str, str], right: bool | None, why: str, seconds: float) -> Row:
    return Row(
        name=port.name,
        kind="honest" if port.honest else "hostile",
        gate=port.gate or "",
        expected=port.rejected_by,
        fired=fired,
        right=right,
        why=why,
        seconds=round(seconds, 1),
    )


def _assembler() -> str | None:
    return os.environ.get("CUTILE_TILEIRAS_PATH") or shutil.which("tileiras")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("packed", type=lambda text: Path(text).resolve(), help="folder with base, tree, tests_root, …")
    parser.add_argument("out", type=lambda text: Path(text).resolve(), help="folder for the table and the evidence")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these ports")
    parser.add_argument(
        "--libraries",
        type=lambda text: Path(text).resolve(),
        help="folder of NAME.so, built from the edited tree, for ports whose Rust is at fault",
    )
    parser.add_argument("--jobs", type=int, default=12, help="runs at a time (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=400.0, help="limit of all (default %(default)s)")
    parser.add_argument("--side-seconds", type=float, default=150.0, help="limit of one side (default %(default)s)")
    parser.add_argument("--tests", nargs="+", default=[CASES], help="pytest node ids under tests_root")
    parser.add_argument("--tileiras", default=_assembler(), help="found in CUTILE_TILEIRAS_PATH or PATH without")
    return parser


if __name__ == "__main__":
    sys.exit(main())
