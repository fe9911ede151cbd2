"""The other roles: the analyzer's draft, the diagnoses of the analysts, the samples of the verifier."""

from __future__ import annotations

import re
from pathlib import Path

from tileport_skill.errors import RequestError
from tileport_skill.pipeline.records import Problem
from tileport_skill.pipeline.validators.checked import Checked
from tileport_skill.pipeline.validators.facts import captures
from tileport_skill.pipeline.verdicts import Verdict
from tileport_skill.pipeline.work import Work
from tileport_skill.tilegym.port_files import port_files
from tileport_skill.timing import gate
from tileport_skill.timing.records import Failed, NotRun, Passed


def check_analysis(work: Work) -> Checked:
    """The reference launches something, and a draft or a reason lies where the kernel writer begins."""
    checkout, operator = work.place()
    known = captures(work)
    kernels = {launch.kernel for captured in known for launch in captured.launches}
    problems = [] if kernels else [Problem(owner=Verdict.FAIL, text=f"no test of {operator.name} launches a kernel")]
    kernel = checkout.root / port_files(checkout, operator).kernel
    facts = [f"{len(kernels)} of {len(operator.kernels)} kernels are launched: {', '.join(sorted(kernels))}"]
    facts.append("a draft of kernel.rs is there" if kernel.is_file() else "there is no draft: kernel.rs begins empty")
    return Checked(problems=tuple(problems), facts=tuple(facts))


def check_diagnosis(work: Work, report: Path) -> Checked:
    """A diagnosis points at what it rests on: lines `evidence: PATH`, each a file that is there."""
    text = report.read_text(encoding="utf-8", errors="replace") if report.is_file() else ""
    named = re.findall(r"^evidence: (.+)$", text, re.MULTILINE)
    checkout, _ = work.place()
    gone = [name for name in named if not any((root / name).is_file() for root in (work.root, checkout.root))]
    if named and not gone:
        return Checked(problems=(), facts=tuple(f"rests on {name}" for name in named))
    why = f"evidence is not there: {', '.join(gone)}" if gone else "no line `evidence: PATH` says what it rests on"
    return Checked(problems=(Problem(owner=Verdict.MALFORMED, text=why),), facts=(), malformed=True)


def check_performance(work: Work) -> Checked:
    """The samples under `performance/`, judged anew; without any, nothing was run."""
    folder = work.root / "performance"
    if not folder.is_dir():
        return Checked(problems=(), facts=("there are no samples",), measured=Verdict.NOT_RUN)
    try:
        found = gate.read(folder, [work.task().operator])
    except RequestError as error:
        problem = Problem(owner=Verdict.INCONCLUSIVE, text=str(error))
        return Checked(problems=(problem,), facts=(), measured=Verdict.INCONCLUSIVE)
    if isinstance(found, NotRun):
        return Checked(problems=(), facts=(str(found),), measured=Verdict.NOT_RUN)
    verdicts = [timing.verdict for timing in found]
    facts = tuple(f"{timing.operator}: {type(timing.verdict).__name__.lower()}" for timing in found)
    if any(isinstance(verdict, Failed) for verdict in verdicts):
        return Checked(problems=(), facts=facts, measured=Verdict.BELOW_BOUND)
    passed = bool(verdicts) and all(isinstance(verdict, Passed) for verdict in verdicts)
    return Checked(problems=(), facts=facts, measured=Verdict.PASS if passed else Verdict.INCONCLUSIVE)
