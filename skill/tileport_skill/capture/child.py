"""The child process that runs an operator's tests without a GPU; bounded in time and memory."""

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

from tileport_skill.capture import stubs
from tileport_skill.capture.cache import cache_folder
from tileport_skill.capture.profiles import Profile
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.tilegym.operators import PORT_BACKEND, REFERENCE_BACKEND, UNTUNED, Checkout, Operator, is_benchmark
from tileport_skill.tileir.assemble import tool

CASES = Path(__file__).parent.parent / "cases"
SKILL = Path(__file__).parent.parent.parent
PLUGIN = "tileport_skill.capture.inside.plugin"
ASSEMBLER = Path(__file__).parent / "inside" / "assembler.py"
LIBRARY = "libcutile_kernels.so"
_PYTEST_BROKE = (2, 3, 4)
"""Interrupted, an internal error, a usage error: what was recorded until then is no capture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a child may take before it is ended."""

    seconds: float = 900.0
    """The whole session."""
    test_seconds: float = 240.0
    """One test."""
    address_space: int = 24 << 30
    """Torch alone maps some 4 GiB; fake tensors take none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One child: which tests of which checkout, as which device, and where its answer goes."""

    checkout: Checkout
    operators: Sequence[Operator]
    profile: Profile
    symbol: str
    answer: Path
    limits: Limits
    library: Path | None = None
    """The port's built library; with it the tests run on the port, without it on the reference."""
    calls: bool = False
    """Whether the tests run on the port's wrapper alone, without its library, and its calls into that are recorded."""
    tuning: bool = True
    """Whether host code tunes: without, each call launches once, with the hints it has untuned."""
    for_ports: bool = True
    """Whether each launch also gets its kernel as compiled under what a port's launcher assumes of its arguments."""
    again: bool = False
    """Whether calls are made again with awkward arguments."""
    files: tuple[str, ...] = ()
    """Test files to run, of the checkout or else of our cases, instead of those of the operators."""
    widen: int = 0
    """How many candidates are made up for each launch besides the host's own; see `inside/widen.py`."""

    @property
    def of_port(self) -> bool:
        return self.calls or self.library is not None


def run(session: Session) -> None:
    """Runs the child; afterwards `session.answer` holds its JSON, and `pytest.log` beside it what it said.

    Raises `RequestError` if the child gave no answer: a checkout that does not import, tests that never end.
    """
    session.answer.parent.mkdir(parents=True, exist_ok=True)
    session.answer.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="tileport-capture-") as folder:
        scratch = Path(folder)
        benchmarks = not session.of_port  # a port is not asked for them, so they are not imported either
        root, tests = tests_of(session.checkout, session.operators, scratch, session.files, benchmarks=benchmarks)
        environment = _environment(session, root.resolve(), scratch)
        code, said = bounded(_command(session.limits, root, tests), root, environment, session.limits.seconds)
    (session.answer.parent / "pytest.log").write_text(said, encoding="utf-8")
    if code in _PYTEST_BROKE or not session.answer.is_file():
        end = "\n".join(said.rstrip().splitlines()[-30:])
        raise RequestError(
            f"Running the tests for {session.profile.arch} gave no result (exit {code}). The end of it:\n{end}"
        )


def tests_of(
    checkout: Checkout,
    operators: Sequence[Operator],
    scratch: Path,
    files: Sequence[str],
    *,
    benchmarks: bool,
) -> tuple[Path, list[str]]:
    """The folder to run from and the test files: the checkout's own, or a copy of our cases for a wheel."""
    # Benchmarks last: a port's session has none, and a tuner that remembers them would search less in the tests.
    named = files or {file for operator in operators for file in _own(operator, benchmarks)}
    own = sorted(named, key=lambda file: (is_benchmark(file), file))
    if own and (checkout.root / own[0]).is_file():
        return checkout.root, own
    root = scratch / "cases"
    shutil.copytree(CASES, root, ignore=shutil.ignore_patterns("__pycache__"))
    found = own or cases_of(operators)
    if not found:
        names = ", ".join(operator.name for operator in operators)
        raise RequestError(f"{names}: the checkout has no tests of it, and neither has tileport_skill/cases.")
    return root, found


def _own(operator: Operator, benchmarks: bool) -> tuple[str, ...]:
    """Benchmarks beside tests, but not instead of them: our cases reach more."""
    return (*operator.tests, *operator.benchmarks) if operator.tests and benchmarks else operator.tests


def cases_of(operators: Sequence[Operator]) -> list[str]:
    """Our own cases of these operators, relative to the folder of cases."""
    wanted = {f"test_{operator.name}.py" for operator in operators}
    return sorted(path.relative_to(CASES).as_posix() for path in CASES.rglob("test_*.py") if path.name in wanted)


def _command(limits: Limits, root: Path, tests: list[str]) -> list[str]:
    bounds = ["prlimit", f"--as={limits.address_space}", "--core=0"]
    pytest = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-q", "--no-header", "--tb=short"]
    pytest += ["--continue-on-collection-errors", "--assert=plain"]  # rewritten tests would be slower and no better
    return [*bounds, *pytest, f"--rootdir={root.resolve()}", *tests]


def _environment(session: Session, root: Path, scratch: Path) -> dict[str, str]:
    request = scratch / "request.json"
    request.write_text(json.dumps(_request(session, root, scratch)), encoding="utf-8")
    environment = child_environment(session.checkout, session.profile, scratch, root)
    environment["TILEPORT_CAPTURE"] = str(request)
    if not session.tuning:
        environment[UNTUNED] = "1"
    if session.of_port:
        environment |= _port_environment(session.library, scratch)
    return environment


def child_environment(checkout: Checkout, profile: Profile, scratch: Path, root: Path | None = None) -> dict[str, str]:
    """A small environment of our own for a child that imports the checkout: nothing of the caller's decides what
    happens there. `root` is another folder to import from."""
    package_root = (checkout.root / checkout.package).parent.resolve()
    roots = [SKILL, *([root] if root is not None else []), package_root]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        # Our own path comes last: in a container the packages lie on it, not beside the interpreter.
        "PYTHONPATH": ":".join([*map(str, roots), os.environ.get("PYTHONPATH", "")]),
        "USER": "capture",  # torch asks for a name, and in a container the user may have none
        "PYTHONPYCACHEPREFIX": str(cache_folder("pycache")),
        "PYTHONWARNINGS": "ignore",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # what else is installed here shall not decide what is captured
        "LD_PRELOAD": stubs.preloaded(),
        "TILEPORT_CAPABILITY": f"{profile.capability[0]}{profile.capability[1]}",
        "TILEPORT_SMS": str(profile.sms),
        "CUTILE_RS_AUTOBUILD": "0",
        "DISABLE_FALLBACK": "1",
        "CUTILE_RS_TUNED": "0",  # a port's tuning table is checked by itself; here it shall do as its reference does
    }
    kept = ("TILEPORT_CACHE", "LANG", "PYTHONPYCACHEPREFIX", "PYTHONHASHSEED")
    return environment | {name: os.environ[name] for name in kept if name in os.environ}


def _request(session: Session, root: Path, scratch: Path) -> dict[str, object]:
    return {
        "operators": [operator.name for operator in session.operators],
        "names": sorted({name for operator in session.operators for name in operator.aliases}),
        "again": session.again,
        "widen": session.widen,
        "arch": session.profile.arch,
        "backend": PORT_BACKEND if session.of_port else REFERENCE_BACKEND,
        "calls": session.calls,
        "symbol": session.symbol,
        "root": str(root),
        "package": str((session.checkout.root / session.checkout.package).resolve()),
        "ir": str(cache_folder("ir")),
        "launches": str(scratch / "launches"),
        "for_ports": session.for_ports,
        "parent": os.getpid(),
        "test_seconds": session.limits.test_seconds,
        "answer": str(session.answer.resolve()),
    }


def _port_environment(library: Path | None, scratch: Path) -> dict[str, str]:
    """Lets TileGym find the built library, and cuTile Rust our stand-in for `tileiras`; or a file in its place."""
    crate = scratch / "crate"
    release = crate / "target" / "release"
    release.mkdir(parents=True)
    (crate / "Cargo.toml").touch()
    if library is None:
        (release / LIBRARY).touch()
    else:
        (release / LIBRARY).symlink_to(library.resolve())
    assembler = scratch / "tileiras"
    assembler.write_text(
        f'#!/bin/sh\nunset LD_PRELOAD\nexec "{sys.executable}" -S -E "{ASSEMBLER}" "$@"\n', encoding="utf-8"
    )
    assembler.chmod(0o755)
    return {
        "CUTILE_RS_KERNELS_DIR": str(crate),
        "CUTILE_TILEIRAS_PATH": str(assembler),
        "TILEPORT_TILEIRDISASM": tool("tileirdisasm"),
        "TILEPORT_IR": str(cache_folder("ir")),
        "TILEPORT_LAUNCHES": str(scratch / "launches"),
    }


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
