"""The kernel writer's second proof: the kernel runs right, with neither the port's C nor its Python in the way.

Twice: by the interpreter in the operator's own tests, against PyTorch; and as a program in pure Rust, which is built
here and runs where there is a GPU.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from tileport_skill.capture.records import Capture
from tileport_skill.emit.entries import KernelModule
from tileport_skill.emit.program import Emitter
from tileport_skill.errors import RequestError
from tileport_skill.pipeline.records import Problem
from tileport_skill.pipeline.verdicts import Verdict
from tileport_skill.pipeline.work import Work
from tileport_skill.running.in_place import against_pytorch
from tileport_skill.running.own_test import Built, DoesNotBuild, own_test
from tileport_skill.running.pytorch import Agreement

OWNER = Verdict.FAIL_KERNEL
Found = tuple[list[Problem], list[str]]
"""Problems, and facts."""


def second_proof(
    work: Work, captured: Capture, kernel: Path, modules: tuple[KernelModule, ...], emitter: Emitter
) -> Found:
    """For a kernel that is equal; `captured` is one architecture's, whole."""
    checkout, operator = work.place()
    (work.root / "logs").mkdir(exist_ok=True)
    folder = work.root / "scratch" / "interpreted"
    try:
        agreements = against_pytorch(checkout, operator, captured, kernel, modules, emitter, folder)
        problems, facts = agreed(agreements)
    except RequestError as error:  # tests that only run where there is a GPU
        agreements, problems, facts = [], [], [f"no kernel was shown against PyTorch: {str(error)[:300]}"]
    text = json.dumps([asdict(one) for one in agreements], indent=1)
    (work.root / "logs" / "interpreted.json").write_text(text, encoding="utf-8")
    manifest = checkout.port_dir / "cutile_kernels" / "Cargo.toml"
    if not manifest.is_file():
        return problems, [*facts, "the pipeline test was not made: the checkout has no kernels crate to build it with"]
    log = work.root / "logs" / "pipeline.log"
    more, said = ran(own_test(work.root / "pipeline", captured, kernel, manifest, modules, log))
    return problems + more, facts + said


def agreed(found: Sequence[Agreement]) -> Found:
    """Only a test that fails is a problem; what could not be shown is told."""
    problems = [
        Problem(owner=OWNER, text=f"{one.kernel} interpreted disagrees with PyTorch: {one.reason}")
        for one in found
        if one.disagrees
    ]
    agree = [one.kernel for one in found if one.agrees]
    facts = [f"interpreted, {len(agree)} of {len(found)} kernels agree with PyTorch in the operator's own tests"]
    facts += [f"{one.kernel} was not shown against PyTorch: {one.reason}" for one in found if not one.agrees]
    return problems, facts


def ran(found: DoesNotBuild | Built) -> Found:
    if isinstance(found, DoesNotBuild):
        text = f"the pipeline test, a program that launches the entries, does not build: {found.log[-1500:]}"
        return [Problem(owner=OWNER, text=text)], []
    problems = [Problem(owner=OWNER, text=f"the pipeline test failed: {why}") for why in found.failed]
    return problems, list(_told(found))


def _told(found: Built) -> Iterator[str]:
    ran = f"not run: {found.not_run}" if found.not_run else f"run: {len(found.failed)} failed"
    yield f"the pipeline test builds, {len(found.cases)} cases ({', '.join(found.cases)}); {ran}"
    yield from (f"the pipeline test leaves out {one.name}: {one.why}" for one in found.left_out)
