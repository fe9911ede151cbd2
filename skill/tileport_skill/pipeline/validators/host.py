"""The host builder's files: their rules, the boundary, a build, and what the built port itself launches."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from pydantic import TypeAdapter

from tileport_skill.capture.cache import cache_folder
from tileport_skill.emit.rust import MINIMUM, ensure_rust
from tileport_skill.emit.tools import cuda_folder
from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.judge.library import LIBRARY
from tileport_skill.pipeline.records import Problem
from tileport_skill.pipeline.validators.checked import Checked
from tileport_skill.pipeline.validators.facts import broken_rules
from tileport_skill.pipeline.validators.kernel import told, unequal
from tileport_skill.pipeline.verdicts import Verdict
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.operators import Checkout
from tileport_skill.tilegym.port_files import PortFiles, port_files
from tileport_skill.verify import ANY_SPEED, Row, verify

HOST, KERNEL, ENVIRONMENT = Verdict.FAIL_HOST, Verdict.FAIL_KERNEL, Verdict.FAIL_ENVIRONMENT
_SECONDS = 1500
_SEED = Path("/toolchain/target")
_SEED_LOCK = Path("/toolchain/src/seed/Cargo.lock")


def check_host(work: Work) -> Checked:
    """Rules first, since they cost nothing; then the build; then every launch that the built port makes."""
    checkout, operator = work.place()
    files = port_files(checkout, operator)
    problems = _absent(checkout, files, has_tests=bool(operator.tests))
    problems += broken_rules(work, HOST, "wrapper", "launcher", "library", "registration", "test", "manifest")
    if problems:
        return Checked(problems=tuple(problems), facts=())
    try:
        log = _build(checkout, work)
    except MachineryError as error:
        return Checked(problems=(Problem(owner=ENVIRONMENT, text=str(error)),), facts=())
    library = work.root / "scratch" / LIBRARY
    if log or not library.is_file():
        return Checked(problems=(blame(log, files),), facts=())
    with tempfile.TemporaryDirectory(prefix="tileport-check-") as folder:
        try:
            archs = work.task().archs
            found = verify(checkout, operator, archs, Path(folder), None, library, tuning=False, budget=ANY_SPEED)
            rows = list(found)
        except RequestError as error:
            return Checked(problems=(Problem(owner=HOST, text=str(error)),), facts=("the library is built",))
    rows_text = json.dumps(TypeAdapter(list[Row]).dump_python(rows, mode="json"), indent=1)
    (work.root / "logs" / "dispatch.json").write_text(rows_text, encoding="utf-8")
    facts = ("the library is built", *told(rows), "TileGym's tests on a GPU: not run here")
    return Checked(problems=tuple(unequal(rows, HOST)), facts=facts)


def _absent(checkout: Checkout, files: PortFiles, *, has_tests: bool) -> list[Problem]:
    """Missing files, and edits that do not name the port."""
    name = Path(files.wrapper).stem
    wanted = {files.wrapper: "cutile-rs", files.kernel: "", files.launcher: "no_mangle"}
    wanted |= {files.library: f"mod {name}", files.registration: f"import {name}"}
    if has_tests:
        wanted[files.test] = '"cutile-rs"'
    found = []
    for path, word in wanted.items():
        file = checkout.root / path
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        if not text or word not in text:
            owner = KERNEL if path == files.kernel else HOST
            found.append(Problem(owner=owner, text=f"{path} is not there" if not text else f"{path} has no `{word}`"))
    return found


def _build(checkout: Checkout, work: Work) -> str:
    """Empty if the crate builds, else the log's end. Raises `MachineryError` where there is nothing to build with.

    Dependencies are compiled once for all ports of this machine, one build at a time; the library is copied out of
    there before another port may build its own.
    """
    log, target = work.root / "logs" / "build.log", cache_folder() / "port-target"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = _cargo(checkout, target, log)
        library = work.root / "scratch" / LIBRARY
        library.parent.mkdir(parents=True, exist_ok=True)
        library.unlink(missing_ok=True)
        if not said:
            shutil.copyfile(target / "release" / LIBRARY.name, library)
    return said


def _cargo(checkout: Checkout, target: Path, log: Path) -> str:
    if _SEED.is_dir() and not target.exists():
        shutil.copytree(_SEED, target, symlinks=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = ensure_rust(MINIMUM, cache_folder()).environment(cache_folder("cargo"))
    environment |= {"CARGO_TARGET_DIR": str(target), "CUDA_TOOLKIT_PATH": str(cuda_folder())}
    command = ["cargo", "build", "--release", *(["--offline"] if _SEED.is_dir() else [])]
    crate = checkout.port_dir / "cutile_kernels"
    lock = crate / "Cargo.lock"
    had_lock = lock.exists()
    if not had_lock and _SEED_LOCK.is_file():
        shutil.copyfile(_SEED_LOCK, lock)
    (target / "release" / LIBRARY.name).unlink(missing_ok=True)
    with log.open("wb") as file:
        try:
            code = subprocess.run(
                command,
                cwd=crate,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
            ).returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MachineryError(f"cargo could not be run to its end: {error}") from error
        finally:
            if not had_lock:  # it is not part of the port
                lock.unlink(missing_ok=True)
    text = log.read_text(encoding="utf-8", errors="replace")
    return "" if code == 0 else text[-6000:] or f"exit {code}"


def blame(log: str, files: PortFiles) -> Problem:
    """Whose the first error is: the kernel's, the launcher's, or that of what neither wrote."""
    error = re.search(r"^error.*?(?=^\s*$|\Z)", log, re.MULTILINE | re.DOTALL)
    text = (error[0] if error else log[-800:]).strip()
    place = Path(files.kernel).parent.name
    owner = ENVIRONMENT
    if f"{place}/kernel.rs" in text:
        owner = KERNEL
    elif f"{place}/ffi.rs" in text or "src/lib.rs" in text:
        owner = HOST
    return Problem(owner=owner, text=f"the crate does not build: {text[:1500]}")
