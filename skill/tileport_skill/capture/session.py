"""READ FIRST. A capture: the operators' tests run in a child process per architecture, answers read back.

Nothing of the checkout is imported here; the child is bounded in time and memory and sees no GPU.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tileport_skill.capture import stubs
from tileport_skill.capture.cache import cache_folder
from tileport_skill.capture.profiles import Profile, profile_of
from tileport_skill.capture.records import Capture
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import Checkout, Operator

SYMBOL = "kernel_entry"
"""The entry symbol of every exported reference: one for all, since it is part of the cubin."""
CASES = Path(__file__).parent.parent / "cases"
SKILL = Path(__file__).parent.parent.parent


_PYTEST_BROKE = (2, 3, 4)
"""Interrupted, an internal error, a usage error: what was recorded until then is no capture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a child may take before it is ended."""

    seconds: float = 900.0
    address_space: int = 64 << 30


def capture(
    checkout: Checkout,
    operators: Sequence[Operator],
    archs: Sequence[str],
    out: Path,
    *,
    symbol: str = SYMBOL,
    limits: Limits | None = None,
) -> tuple[Capture, ...]:
    """Captures `operators` once for each of `archs`; writes `out/<arch>/capture.json` and returns the same.

    A checkout without tests (a wheel) is captured with the project's own cases.
    """
    profiles = [profile_of(arch) for arch in archs]
    found = []
    for profile in profiles:
        folder = out / profile.arch
        folder.mkdir(parents=True, exist_ok=True)
        found.append(_captured(checkout, operators, profile, folder, symbol, limits or Limits()))
    return tuple(found)


def _captured(
    checkout: Checkout,
    operators: Sequence[Operator],
    profile: Profile,
    out: Path,
    symbol: str,
    limits: Limits,
) -> Capture:
    answer = out / "capture.json"
    answer.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="tileport-capture-") as scratch:
        tests_root, tests = tests_of(checkout, operators, Path(scratch))
        request = Path(scratch) / "request.json"
        request.write_text(
            json.dumps(
                {
                    "operators": [operator.name for operator in operators],
                    "arch": profile.arch,
                    "symbol": symbol,
                    "ir": str(cache_folder("ir")),
                    "answer": str(answer.resolve()),
                }
            ),
            encoding="utf-8",
        )
        code, said = _run_child(checkout, tests_root, tests, request, profile, limits)
    (out / "pytest.log").write_text(said, encoding="utf-8")
    if code in _PYTEST_BROKE or not answer.is_file():
        raise RequestError(
            f"The capture for {profile.arch} gave no result (exit {code}). The end of what it said:\n{_tail(said)}"
        )
    return read_capture(answer)


def read_capture(path: Path) -> Capture:
    """The capture a file holds. Raises `MachineryError` if it is none."""
    try:
        return TypeAdapter(Capture).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise MachineryError(f"{path} is no capture: {error}") from error


def tests_of(checkout: Checkout, operators: Sequence[Operator], scratch: Path) -> tuple[Path, list[str]]:
    """The folder to run from and the test files: the checkout's own, or a copy of our cases for a wheel."""
    own = sorted({test for operator in operators for test in operator.tests})
    if own:
        return checkout.root, own
    root = scratch / "cases"
    shutil.copytree(CASES, root, ignore=shutil.ignore_patterns("__pycache__"))
    wanted = {f"test_{operator.name}.py" for operator in operators}
    found = sorted(path.relative_to(root).as_posix() for path in root.rglob("test_*.py") if path.name in wanted)
    if not found:
        names = ", ".join(operator.name for operator in operators)
        raise RequestError(f"{names}: the checkout has no tests of it, and neither has tileport_skill/cases.")
    return root, found


def _run_child(
    checkout: Checkout, tests_root: Path, tests: list[str], request: Path, profile: Profile, limits: Limits
) -> tuple[int, str]:
    package_root = (checkout.root / checkout.package).parent.resolve()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(request.parent),
        "USER": "capture",  # torch asks for a name, and in a container the user may have none
        # Our own path comes last: in a container the packages lie on it, not beside the interpreter.
        "PYTHONPATH": ":".join(
            [*map(str, (SKILL, tests_root.resolve(), package_root)), *os.environ.get("PYTHONPATH", "").split(":")]
        ),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        "LD_PRELOAD": stubs.preloaded(),
        "TILEPORT_CAPTURE": str(request),
        "TILEPORT_CAPABILITY": f"{profile.capability[0]}{profile.capability[1]}",
        "TILEPORT_SMS": str(profile.sms),
        "CUTILE_RS_AUTOBUILD": "0",
        "DISABLE_FALLBACK": "1",
    }
    for name in ("TILEPORT_CACHE", "TMPDIR", "LANG", "PYTHONPYCACHEPREFIX"):
        if name in os.environ:
            environment[name] = os.environ[name]
    plugin = "tileport_skill.capture.inside.plugin"
    command = [
        *("prlimit", f"--as={limits.address_space}", "--core=0"),
        *(
            sys.executable,
            "-m",
            "pytest",
            "-p",
            plugin,
            "-p",
            "no:cacheprovider",
            "-q",
            "--no-header",
            "--tb=short",
        ),
        *tests,
    ]
    return bounded(command, tests_root, environment, limits.seconds)


def bounded(command: list[str], cwd: Path, environment: dict[str, str], seconds: float) -> tuple[int, str]:
    """Exit status and output of a child that may not outlive `seconds`, nor may its own children."""
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise MachineryError(f"{command[0]} could not be started: {error}") from error
    with process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            return 124, out.decode("utf-8", "replace") + f"\nended after {seconds:.0f} s"
    return process.returncode, out.decode("utf-8", "replace")


def _tail(text: str, lines: int = 30) -> str:
    return "\n".join(text.rstrip().splitlines()[-lines:])
