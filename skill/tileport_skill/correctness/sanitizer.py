"""compute-sanitizer over the kept calls, where it is installed: accesses that no comparison of results can see."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tileport_skill.correctness import files
from tileport_skill.correctness.records import Role, Sanitized
from tileport_skill.tilegym.operators import UNTUNED

_CHILD = "tileport_skill.correctness.sanitized"
_PLACES = ("/usr/local/cuda/bin/compute-sanitizer", "/opt/cuda/bin/compute-sanitizer")
_FOUND = 66
"""The exit status we ask for where something was found."""
_ERROR = re.compile(r"^=+ (Invalid .*|Misaligned .*|Address .*|.*out of bounds.*)\n=+ +at (.*)$", re.MULTILINE)
_SHOWN = 10
SECONDS = 300.0


def find() -> str | None:
    """Path of the program, if it is installed."""
    return shutil.which("compute-sanitizer") or next((place for place in _PLACES if Path(place).is_file()), None)


def check(
    job: Path, calls: Path, out: Path, environments: Mapping[Role, Mapping[str, str]], seconds: float = SECONDS
) -> Sanitized:
    """The port's calls under memcheck; the reference's too if it finds something, for what both do is not the port's.

    `job` is the job's file, `calls` the folder of kept calls. Leaves the program's words in `out`.
    """
    program = find()
    if program is None:
        return Sanitized(not_run="compute-sanitizer is not installed on this machine")
    port = _watched(program, job, "port", calls, out, environments["port"], seconds)
    if not port.errors:
        return port
    reference = _watched(program, job, "reference", calls, out, environments["reference"], seconds)
    if reference.errors:
        told = f"the reference does so too: {reference.errors[0]}"
        return Sanitized(calls=port.calls, not_run=f"{port.errors[0]}; {told}")
    return port


def _watched(
    program: str, job: Path, role: Role, calls: Path, out: Path, environment: Mapping[str, str], seconds: float
) -> Sanitized:
    log, made = out / f"{role}-{files.SANITIZER_LOG}", out / f"{role}-{files.SANITIZED}"
    # Errors of the API are no business of this check: PyTorch provokes some to learn what a driver can do.
    options = ["--tool=memcheck", "--report-api-errors=no", f"--error-exitcode={_FOUND}", f"--log-file={log}"]
    command = [program, *options, sys.executable, "-m", _CHILD, str(job), role, str(calls), str(made)]
    # With PyTorch's cache, a tensor's neighbours belong to its allocation.
    alone = dict(environment) | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", UNTUNED: "1"}
    try:
        done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Sanitized(not_run=f"compute-sanitizer took more than {seconds:.0f} s")
    said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    errors = errors_in(said)
    if errors:
        return Sanitized(calls=_count(made), errors=errors)
    if done.returncode != 0 or not made.is_file():
        last = (done.stderr.strip() or said.strip() or "it said nothing").splitlines()[-1]
        return Sanitized(not_run=f"the process under compute-sanitizer ended with status {done.returncode}: {last}")
    return Sanitized(calls=_count(made))


def errors_in(log: str) -> tuple[str, ...]:
    """Each different error of a log of memcheck, a sentence each, in order."""
    found = dict.fromkeys(f"{what} at {where}" for what, where in _ERROR.findall(log))
    return tuple(found)[:_SHOWN]


def _count(made: Path) -> int:
    return int(json.loads(made.read_text(encoding="utf-8"))["calls"]) if made.is_file() else 0
