"""The kernel's own test in pure Rust: written, built, and run where there is a GPU."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.capture.records import Capture
from tileport_skill.emit.entries import KernelModule
from tileport_skill.running.cases import LeftOut, cases_of
from tileport_skill.running.crates import program_of
from tileport_skill.running.program import NAME, write_crate

NOT_RUN = 77
SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class DoesNotBuild:
    """The kernel, included in a program that launches it, does not compile."""

    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """It builds; what came of running it."""

    cases: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    failed: tuple[str, ...] = ()
    not_run: str | None = None
    """Why it was not run, if it was not."""


def own_test(
    folder: Path, captured: Capture, kernel: Path, manifest: Path, modules: tuple[KernelModule, ...], log: Path
) -> DoesNotBuild | Built:
    """Makes the crate in `folder` anew, for what was captured, and builds and runs it."""
    cases, left_out = cases_of(captured, modules)
    write_crate(folder, kernel, manifest, cases)
    program = program_of(folder, NAME, log)
    if isinstance(program, str):
        return DoesNotBuild(log=program)
    return run(program, folder / "data", tuple(case.name for case in cases), left_out)


def run(program: Path, data: Path, cases: tuple[str, ...], left_out: tuple[LeftOut, ...]) -> Built:
    try:
        done = subprocess.run([program, data], capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Built(cases=cases, left_out=left_out, failed=(f"it did not end in {SECONDS} s",))
    failed = tuple(re.findall(r"^failed (.*)$", done.stdout, re.MULTILINE))
    if done.returncode == NOT_RUN:
        return Built(cases=cases, left_out=left_out, not_run=done.stdout.strip().removeprefix("not run: "))
    if done.returncode != 0 and not failed:
        failed = (f"exit {done.returncode}: {done.stderr[-500:]}",)
    return Built(cases=cases, left_out=left_out, failed=failed)
