"""The host builder's files: their rules, the boundary, a build, and what the built port itself launches."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

from pydantic import TypeAdapter

from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.judge.library import LIBRARY
from tileport_skill.pipeline.records import Problem
from tileport_skill.pipeline.validators.checked import Checked
from tileport_skill.pipeline.validators.facts import broken_rules
from tileport_skill.pipeline.validators.kernel import told, unequal
from tileport_skill.pipeline.verdicts import Verdict
from tileport_skill.pipeline.work import Work
from tileport_skill.running.crates import built
from tileport_skill.tilegym.operators import Checkout
from tileport_skill.tilegym.port_files import PortFiles, port_files
from tileport_skill.verify import ANY_SPEED, Row, answered_for, verify

HOST, KERNEL, ENVIRONMENT = Verdict.FAIL_HOST, Verdict.FAIL_KERNEL, Verdict.FAIL_ENVIRONMENT


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
            place = Path(folder)
            found = verify(checkout, operator, archs, place, None, library, tuning=False, again=True, budget=ANY_SPEED)
        except RequestError as error:
            return Checked(problems=(Problem(owner=HOST, text=str(error)),), facts=("the library is built",))
    rows = list(answered_for(found))
    rows_text = json.dumps(TypeAdapter(tuple[Row, ...]).dump_python(found, mode="json"), indent=1)
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
    """Empty if the crate builds, else the log's end. The library is copied out of where the next build will lie."""
    library = work.root / "scratch" / LIBRARY
    library.parent.mkdir(parents=True, exist_ok=True)
    library.unlink(missing_ok=True)
    with built(checkout.port_dir / "cutile_kernels", LIBRARY.name, work.root / "logs" / "build.log") as made:
        if isinstance(made, str):
            return made
        shutil.copyfile(made, library)
    return ""


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
