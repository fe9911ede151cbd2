"""Runs a plan on the GPU at hand: child processes that tune and sample, one at a time, within a time budget.

`python -m tileport_skill.timing.campaign OP... --repo R --raw FOLDER` is the whole command for a GPU machine; it needs
the standard library, NumPy, torch, cuda-tile and cupti-python. Run again, it goes on where it was. This process never
opens the GPU itself.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tileport_skill.errors import MachineryError, RequestError, TileportError
from tileport_skill.tilegym.operators import UNTUNED, Checkout, open_checkout
from tileport_skill.timing.inside.nvml import Nvml
from tileport_skill.timing.machine import known_machine
from tileport_skill.timing.plan import TRITON, Budget, make_plan
from tileport_skill.timing.raw import RawFolder, read_json, write_json

LIBRARY = "libcutile_kernels.so"
UNFINISHED = 3
"""Exit status when the time ran out before the plan was done: run the same command again."""
_INSIDE = "tileport_skill.timing.inside"
_SKILL = Path(__file__).parents[2]
_LEAST_SECONDS = 25.0
"""A child that starts with less than this would end before its first row."""

Needed = Callable[[RawFolder, str], tuple[str, ...]]
_MOST_STARTS = 4
"""Processes that may be started for each one wanted; some end early, when time runs out."""


@dataclass
class Campaign:
    """One run of the command."""

    checkout: Checkout
    library: Path
    raw: RawFolder
    seconds: float
    say: Callable[[str], None] = print
    _started: float = field(default_factory=time.monotonic)

    def run(self, needed: Needed) -> bool:
        """Whether everything is measured. `needed` names an operator's rows that want one more process."""
        plan = read_json(self.raw.plan)
        measured = any((self.raw.root / "samples").glob("*.json"))
        check_machine(known_machine(self.raw.machine, self._probe, self.raw.log("probe"), measured=measured), plan)
        if not all(self._tune(plan, side) for side in (plan["baseline"], plan["candidate"])):
            return False
        for process in range(_MOST_STARTS * plan["most_processes"]):
            wanting = {operator: needed(self.raw, operator) for operator in plan["operators"]}
            if not any(wanting.values()):
                return True
            new = {name: rows for name, rows in wanting.items() if not self.raw.samples(name, process).is_file()}
            rows = [f"{operator}/{row}" for operator, ids in new.items() for row in ids]
            if rows and not self._sample(process, rows):
                return False
        return False

    @property
    def left(self) -> float:
        return self.seconds - (time.monotonic() - self._started)

    def _probe(self) -> None:
        self._child("probe", f"{_INSIDE}.session", [], 120)

    def _tune(self, plan: dict[str, Any], side: str) -> bool:
        rows = [(operator, row["id"]) for operator, kept in plan["operators"].items() for row in kept["rows"]]
        while any(not self.raw.tuned(operator, row, side).is_file() for operator, row in rows):
            if self.left < _LEAST_SECONDS:
                return False
            self.say(f"tuning {side} …")
            before = self._progress()
            code = self._child(f"tune-{side}", f"{_INSIDE}.tune", [side], self.left)
            if code != 0 and self._progress() == before:
                raise MachineryError(
                    f"tuning {side} ends with status {code} before it does anything; "
                    f"{self.raw.log(f'tune-{side}')} says why."
                )
        return True

    def _progress(self) -> int:
        """Grows with everything a tuning process writes down."""
        return sum(path.stat().st_size for path in (self.raw.root / "tuning").rglob("*") if path.is_file())

    def _sample(self, process: int, rows: Sequence[str]) -> bool:
        """Measures `rows` in one process. One that ended early keeps what it had; the rest waits for the next."""
        if self.left < _LEAST_SECONDS:
            return False
        self.say(f"process {process} measures {len(rows)} rows …")
        log = f"sample-{process:02d}"
        code = self._child(log, f"{_INSIDE}.sample", [str(process)], self.left, [str(self._others()), *rows])
        done = sum(len(read_json(path)["rows"]) for path in (self.raw.root / "samples").glob(f"*.{process:02d}.json"))
        if code != 0:
            self.say(f"  it ended with status {code} after {done} rows")
        if not done and self.left >= _LEAST_SECONDS:
            raise MachineryError(
                f"process {process} ended with status {code} and measured nothing; {self.raw.log(log)} says why."
            )
        return bool(done)

    def _others(self) -> int:
        """Compute processes on the GPU while none of ours runs; -1 if NVML does not say."""
        count = Nvml(read_json(self.raw.machine)["uuid"]).state().processes
        return -1 if count is None else count

    def _child(self, log: str, module: str, arguments: list[str], seconds: float, more: Sequence[str] = ()) -> int:
        """Exit status of a child that sees our environment and the checkout; 124 if it had to be ended."""
        given = [] if module.endswith("session") else [f"{seconds - 5:.0f}"]
        command = [sys.executable, "-m", module, str(self.raw.root.resolve()), *arguments, *given, *more]
        path = self.raw.log(log)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            process = subprocess.Popen(
                command,
                env=environment(self.checkout, self.library, self.raw, module.endswith("tune")),
                cwd=self.raw.root,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(timeout=max(seconds, 1))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return 124


def environment(checkout: Checkout, library: Path, raw: RawFolder, tuning: bool) -> dict[str, str]:
    """The caller's, with TileGym's fallbacks off and, while tuning, the limit on what the port's compiler may take."""
    package_root = (checkout.root / checkout.package).parent.resolve()
    path = [str(_SKILL), str(package_root), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = os.environ | {
        "PYTHONPATH": os.pathsep.join(path),
        "CUTILE_RS_KERNELS_DIR": str(_crate(raw, library)),
        "CUTILE_RS_AUTOBUILD": "0",
        "DISABLE_FALLBACK": "1",
        "TILEGYM_LOG_LEVEL": "WARNING",
        "PYTHONWARNINGS": "ignore",
    }
    found.pop(UNTUNED, None)
    if tuning:
        found["CUTILE_TILEIRAS_PATH"] = str(_limited(raw, read_json(raw.plan)["compile_limit"]))
    return found


def _crate(raw: RawFolder, library: Path) -> Path:
    """A kernels crate as far as TileGym's loader looks at one, with `library` as what it was built to."""
    crate = raw.root.resolve() / "crate"
    release = crate / "target" / "release"
    release.mkdir(parents=True, exist_ok=True)
    (crate / "Cargo.toml").touch()
    link = release / LIBRARY
    if not link.is_symlink() or link.resolve() != library.resolve():
        link.unlink(missing_ok=True)
        link.symlink_to(library.resolve())
    return crate


def _limited(raw: RawFolder, seconds: float) -> Path:
    """A `tileiras` that is ended after `seconds`: cuTile Rust has no limit of its own."""
    real = os.environ.get("CUTILE_TILEIRAS_PATH", "tileiras")
    script = raw.root.resolve() / "limited-tileiras"
    script.write_text(f'#!/bin/sh\nexec timeout -k 1 {seconds:g} "{real}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def check_machine(machine: dict[str, Any], plan: dict[str, Any]) -> None:
    """Raises `RequestError` if a side of the plan cannot run here."""
    if plan["baseline"] == TRITON and not machine["triton_tileir"]:
        raise RequestError(
            "--baseline triton needs Triton-TileIR: a Triton with `triton.backends.tileir` (NVIDIA's nvtriton wheel) "
            "and ENABLE_TILE=1 in the environment. Plain Triton is no baseline for a Tile IR port."
        )
    for side in (plan["baseline"], plan["candidate"]):
        if side not in machine["backends"]:
            raise RequestError(
                f"TileGym has no backend {side!r} on this machine, only {', '.join(machine['backends'])}."
            )


def start(raw: RawFolder, plan: dict[str, Any]) -> None:
    """Writes the plan, or checks that the folder was begun with the same one."""
    if not raw.plan.is_file():
        write_json(raw.plan, plan)
    elif read_json(raw.plan) != plan:
        raise RequestError(
            f"{raw.root} was begun with another plan (other operators, rows, budget or kernels). "
            "Give a new folder with --raw, or the old request again."
        )


def find_library(checkout: Checkout, given: Path | None) -> Path:
    """The ports' shared library: the given one, or where cargo leaves it. Raises `RequestError` if it is not there."""
    path = given or checkout.port_dir / "cutile_kernels" / "target" / "release" / LIBRARY
    if path.is_file():
        return path
    if given:
        raise RequestError(f"{given} does not exist. --library wants the built {LIBRARY}.")
    raise RequestError(
        f"{path} does not exist. Build it with `cargo build --release` in {path.parents[2]}, or give one that was "
        "built elsewhere with --library."
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="+", metavar="OP")
    parser.add_argument("--repo", type=Path, required=True, help="TileGym checkout or unpacked wheel")
    parser.add_argument("--library", type=Path, help="the built libcutile_kernels.so, if not where cargo leaves it")
    parser.add_argument("--raw", type=Path, required=True, help="folder of raw samples; given again, it is continued")
    parser.add_argument("--seconds", type=float, default=3600.0, help="wall time this run may take")
    parser.add_argument("--processes", type=int, default=8, help="fresh processes for every row")
    parser.add_argument("--most", type=int, default=16, help="fresh processes at most, for rows that straddle the rule")
    parser.add_argument("--rows", type=int, help="a trial of so few rows an operator, which can pass nothing")
    parser.add_argument("--baseline", default="cutile")
    parser.add_argument("--candidate", default="cutile-rs")
    given = parser.parse_args(argv)
    from tileport_skill.timing.judging import rows_needed

    try:
        checkout = open_checkout(given.repo)
        library = find_library(checkout, given.library)
        raw = RawFolder(given.raw)
        budget = Budget(processes=given.processes, most=given.most)
        plan = make_plan(checkout, given.operators, given.baseline, given.candidate, budget, most_rows=given.rows)
        start(raw, plan)
        done = Campaign(checkout, library, raw, given.seconds, lambda text: print(text, flush=True)).run(rows_needed)
    except TileportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 12 if isinstance(error, RequestError) else 13
    print("done" if done else "unfinished: run the same command again", flush=True)
    return 0 if done else UNFINISHED


if __name__ == "__main__":
    sys.exit(main())
