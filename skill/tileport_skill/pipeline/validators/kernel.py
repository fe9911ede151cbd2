"""The kernel writer's file: its rules, and its Tile IR against the reference's for everything the tests launch."""

from __future__ import annotations

import shutil
from collections import Counter

from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.entries import Problem as Refusal
from tileport_skill.emit.program import Emitter
from tileport_skill.errors import RequestError
from tileport_skill.pipeline.records import Problem
from tileport_skill.pipeline.validators.checked import Checked
from tileport_skill.pipeline.validators.facts import broken_rules, captures, once_for_hints
from tileport_skill.pipeline.validators.ir import write_ir
from tileport_skill.pipeline.validators.second import second_proof
from tileport_skill.pipeline.verdicts import Verdict
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.port_files import port_files
from tileport_skill.tileir.verdicts import Equal
from tileport_skill.verify import ANY_SPEED, Row, verify_kernel
from tileport_skill.verify_page import reason

OWNER = Verdict.FAIL_KERNEL


def check_kernel(work: Work) -> Checked:
    checkout, operator = work.place()
    path = checkout.root / port_files(checkout, operator).kernel
    if not path.is_file():
        return Checked(problems=(Problem(owner=OWNER, text=f"{path.name} is not there"),), facts=())
    problems = broken_rules(work, OWNER, "kernel")
    emitter, whole = Emitter(built_emitter()), captures(work)
    known = [once_for_hints(captured) for captured in whole]
    try:
        rows = [row for captured in known for row in verify_kernel(captured, path, emitter, budget=ANY_SPEED)]
    except RequestError as error:
        return Checked(problems=(*problems, Problem(owner=OWNER, text=str(error))), facts=())
    shutil.rmtree(work.root / "ir", ignore_errors=True)
    write_ir(work.root / "ir", known, path, emitter)
    problems += unequal(rows, OWNER)
    facts = told(rows)
    modules = emitter.describe(path)
    if not problems and not isinstance(modules, Refusal):  # what is not equal need not be run
        problems, said = second_proof(work, whole[0], path, modules, emitter)
        facts += tuple(said)
    return Checked(problems=tuple(problems), facts=facts)


def unequal(rows: list[Row], owner: Verdict) -> list[Problem]:
    """What is not equal, by kernel and reason, each once, with how often."""
    counted = Counter(
        (row.arch, row.kernel, row.verdict.verdict, reason(row.verdict)[:300])
        for row in rows
        if row.counts and not isinstance(row.verdict, Equal)
    )
    found = [
        Problem(owner=owner, text=f"{count} of {kernel} ({arch}) {verdict}: {why}")
        for (arch, kernel, verdict, why), count in counted.items()
    ]
    return found or ([] if any(row.counts for row in rows) else [Problem(owner=owner, text="nothing was compared")])


def told(rows: list[Row]) -> tuple[str, ...]:
    rungs = Counter((row.arch, str(row.verdict.proof.rung)) for row in rows if isinstance(row.verdict, Equal))
    return tuple(f"{arch}: {count} compiled kernels equal by {rung}" for (arch, rung), count in sorted(rungs.items()))
