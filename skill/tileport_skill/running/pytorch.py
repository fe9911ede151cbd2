"""A kernel against PyTorch, without a GPU: an operator's own tests on CPU tensors, its kernels run by the interpreter.

The tests say what is right and how near is near enough. A kernel counts as agreeing when a test of it passes and fails
once the kernel's results are falsified, and none disagrees.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tileport_skill.capture.cache import cache_folder
from tileport_skill.capture.child import bounded, child_environment, tests_of
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import Capture, Launch, ListArgument, TensorArgument
from tileport_skill.capture.session import SYMBOL
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import UNTUNED, Checkout, Operator

PLUGIN = "tileport_skill.running.inside.plugin"
_PATIENCE = 20
"""Seconds that may pass for one of a processor, on a machine that others keep busy."""
NO_MEANING = {"index space", "out of bounds", "race", "uninitialised", "assume", "extract"}
"""Findings after which the dialect leaves open what a kernel does; the hardware may well do something sensible."""
BLOCK = 4000
"""What starting a block costs the interpreter, in elements."""


@dataclass
class Agreement:
    """What is known of one kernel."""

    operator: str
    kernel: str
    agrees: bool = False
    tests: int = 0
    """Tests that launched it and passed."""
    blocks: int = 0
    tolerances: list[str] = field(default_factory=list)
    """Relative and absolute, as those tests state them; `None` leaves them to torch."""
    findings: list[str] = field(default_factory=list)
    """What the sanitizer says of it."""
    set_aside: list[str] = field(default_factory=list)
    """Failed tests that say nothing against the interpreter: it ran out of time, or the kernel had no meaning there."""
    disagrees: bool = False
    """Whether a test failed that counts."""
    foreign: bool = False
    """Whether a launch asked for what the port was not compiled for, so that the reference's own kernel ran."""
    reason: str = ""
    """Why it does not count as checked."""


def chosen(captured: Capture, operators: Iterable[Operator], each: int) -> list[str]:
    """For every kernel the `each` cheapest tests that launch it, of as many element types as there are.

    Benchmarks compare nothing.
    """
    timed = {file for operator in operators for file in operator.benchmarks}
    cost: dict[str, float] = defaultdict(float)
    kernels: dict[str, dict[str, str]] = defaultdict(dict)
    passed = {
        test.id
        for test in captured.tests
        if test.status == "passed" and "perf" not in test.id.split("::")[-1] and test.id.split("::")[0] not in timed
    }
    known = {s.id: s for s in captured.specialisations}
    for launch in captured.launches:
        cost[launch.test] += _cost(launch)
        if launch.test in passed and launch.purpose == "launch":
            types = "/".join(a.dtype for a in _arrays(launch))
            module = known[launch.specialisation].module.rpartition(".")[2]
            kernels[f"{module}.{launch.kernel}"].setdefault(launch.test, types)
    wanted: dict[str, None] = {}
    for tests in kernels.values():
        taken: list[str] = []
        for test in sorted(tests, key=lambda t: cost[t]):
            if len(taken) < each and (len(taken) + 1 < each or tests[test] not in {tests[t] for t in taken}):
                taken.append(test)
        wanted |= dict.fromkeys(taken)
    return sorted(wanted, key=lambda test: cost[test])


def _cost(launch: Launch) -> float:
    return BLOCK * math.prod(launch.grid) + sum(math.prod(a.shape) for a in _arrays(launch))


def _arrays(launch: Launch) -> Iterable[TensorArgument]:
    for argument in launch.arguments:
        items = argument.items if isinstance(argument, ListArgument) else (argument,)
        yield from (item for item in items if isinstance(item, TensorArgument))


def interpret(
    checkout: Checkout,
    operators: Sequence[Operator],
    tests: Sequence[str],
    seconds: int,
    *,
    arch: str = "sm_90",
    ports: Mapping[str, str] = {},
) -> list[dict[str, Any]]:
    """Runs `tests` in a child, each for at most `seconds` of a processor; what it wrote of each.

    `ports` has the files of a port's bytecode by the `text_key` of the reference's that they stand for.
    """
    names = [f"{Path(o.reference).stem}.{kernel}" for o in operators for kernel in o.kernels]
    with tempfile.TemporaryDirectory(prefix="tileport-interpreted-") as folder:
        scratch = Path(folder)
        root, _ = tests_of(checkout, operators, scratch, (), benchmarks=True)
        answer, request = scratch / "answer.jsonl", scratch / "request.json"
        asked: dict[str, Any] = {
            "arch": arch,
            "answer": str(answer),
            "kernels": names,
            "symbol": SYMBOL,
            "ports": dict(ports),
        }
        asked |= {"ir": str(cache_folder("ir")), "test_seconds": seconds}
        request.write_text(json.dumps(asked), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-q", "--tb=short"]
        command += ["--continue-on-collection-errors", f"--rootdir={root.resolve()}", *tests]
        environment = _environment(checkout, root, request, arch)
        if not ports:  # a port is compiled for what the tuner's first configuration launches, as captures have it
            environment[UNTUNED] = "1"
        code, said = bounded(command, root, environment, _PATIENCE * seconds * (len(tests) + 5))
        if not answer.is_file():
            raise RequestError(f"The tests gave nothing with kernels interpreted (exit {code}):\n{said[-4000:]}")
        return [json.loads(line) for line in answer.read_text(encoding="utf-8").splitlines()]


def _environment(checkout: Checkout, root: Path, request: Path, arch: str) -> dict[str, str]:
    """A capture's, with few multiprocessors and one thread for torch."""
    environment = child_environment(checkout, profile_of(arch), request.parent, root.resolve())
    return environment | {"TILEPORT_INTERPRETED": str(request), "TILEPORT_SMS": "4", "OMP_NUM_THREADS": "1"}


def judged(operators: Iterable[Operator], records: list[dict[str, Any]]) -> list[Agreement]:
    """One line for every kernel of the operators, whether a test reached it or not."""
    found = []
    for operator in operators:
        for kernel in operator.kernels:
            found.append(_judge(Agreement(operator.name, kernel), f"{Path(operator.reference).stem}.{kernel}", records))
    return found


def _judge(checked: Agreement, name: str, records: list[dict[str, Any]]) -> Agreement:
    mine = [record for record in records if name in record["launches"] or record["last"] == name]
    passed = [record for record in mine if record["status"] == "passed"]
    checked.tests = len(passed)
    checked.blocks = sum(record["blocks"].get(name, 0) for record in passed)
    checked.tolerances = sorted({t for record in passed for t in record["tolerances"]})
    found = sorted({re.sub(r"\d+", "N", f) for record in mine for f in record["findings"].get(name, ())})
    checked.findings = found
    aside = {record["test"]: said for record in mine if (said := _aside(record))}
    checked.set_aside = sorted(aside.values())
    failed = [record for record in mine if record["status"] == "failed" and record["test"] not in aside]
    noticed = any(record["falsified"].get(name) for record in passed)
    checked.disagrees = bool(failed)
    checked.foreign = any(name in record["foreign"] for record in mine)
    checked.agrees = noticed and not failed and not checked.foreign
    if not checked.agrees:
        checked.reason = _reason(mine, passed, failed, noticed)
    return checked


def _aside(record: dict[str, Any]) -> str:
    """Why a failed test proves nothing, or nothing."""
    if record["status"] == "passed":
        return ""
    if "TestTimedOut" in (record["reason"] or ""):
        return "out of time"
    meaningless = {f.partition(":")[0] for found in record["findings"].values() for f in found} & NO_MEANING
    return f"the sanitizer found: {', '.join(sorted(meaningless))}" if meaningless else ""


def _reason(mine: list[Any], passed: list[Any], failed: list[Any], noticed: bool) -> str:
    if failed:
        return f"{len(failed)} of {len(mine)} tests failed: {failed[0]['reason']}"
    if not mine:
        return "no test launched it"
    if not passed:
        return "no test passed"
    return (
        "it was launched as it was not captured"
        if noticed
        else "its tests do not notice when its results are falsified"
    )
