"""Is the interpreter right? TileGym's own tests on CPU tensors, its kernels interpreted, PyTorch as reference.

`python tests/soak/interpreted.py --repo TILEGYM --report FILE` runs the cheapest tests of every kernel, at the
tests' own tolerances; a kernel counts as checked when a test passes and fails once the kernel is falsified.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tileport_skill.capture.child import Limits, bounded, child_environment, tests_of
from tileport_skill.capture.profiles import profile_of
from tileport_skill.capture.records import Capture, Launch, ListArgument, TensorArgument
from tileport_skill.capture.session import capture, read_capture
from tileport_skill.tilegym.operators import Checkout, Operator, open_checkout, read_operators

HERE = Path(__file__).parent
NO_MEANING = {"index space", "out of bounds", "race", "uninitialised", "assume", "extract"}
"""Findings after which the dialect leaves open what a kernel does; the hardware may well do something sensible."""
BLOCK = 4000
"""What starting a block costs the interpreter, in elements."""


@dataclass
class Checked:
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
    reason: str = ""
    """Why it does not count as checked."""


def chosen(captured: Capture, each: int) -> list[str]:
    """For every kernel the `each` cheapest tests that launch it, of as many element types as there are."""
    cost: dict[str, float] = defaultdict(float)
    kernels: dict[str, dict[str, str]] = defaultdict(dict)
    passed = {test.id for test in captured.tests if test.status == "passed" and "perf" not in test.id.split("::")[-1]}
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


def interpret(checkout: Checkout, operators: list[Operator], tests: list[str], seconds: int) -> list[dict[str, Any]]:
    """Runs `tests` in a child, each for at most `seconds`; what it wrote of each."""
    names = [f"{Path(o.reference).stem}.{kernel}" for o in operators for kernel in o.kernels]
    with tempfile.TemporaryDirectory(prefix="tileport-interpreted-") as folder:
        scratch = Path(folder)
        root, _ = tests_of(checkout, operators, scratch, (), benchmarks=True)
        answer, request = scratch / "answer.jsonl", scratch / "request.json"
        request.write_text(json.dumps({"arch": "sm_90", "answer": str(answer), "kernels": names}), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", "interpreted_plugin", "-p", "pytest_timeout", "-q"]
        command += ["-p", "no:cacheprovider"]
        command += [
            "--continue-on-collection-errors",
            f"--timeout={seconds}",
            "--tb=short",
            f"--rootdir={root.resolve()}",
            *tests,
        ]
        code, said = bounded(command, root, _environment(checkout, root, request), seconds * (len(tests) + 5) * 2)
        if not answer.is_file():
            raise RuntimeError(f"the tests gave nothing (exit {code}):\n{said[-4000:]}")
        return [json.loads(line) for line in answer.read_text(encoding="utf-8").splitlines()]


def _environment(checkout: Checkout, root: Path, request: Path) -> dict[str, str]:
    """A capture's, with our plugin first on the path, few multiprocessors, and one thread for torch."""
    environment = child_environment(checkout, profile_of("sm_90"), request.parent, root.resolve())
    return environment | {
        "PYTHONPATH": f"{HERE}:{environment['PYTHONPATH']}",
        "TILEPORT_INTERPRETED": str(request),
        "TILEPORT_SMS": "4",
        "TILEGYM_DISABLE_AUTOTUNE": "1",
        "OMP_NUM_THREADS": "1",
    }


def judged(operators: Iterable[Operator], records: list[dict[str, Any]]) -> list[Checked]:
    """One line for every kernel of the operators, whether a test reached it or not."""
    found = []
    for operator in operators:
        for kernel in operator.kernels:
            found.append(_judge(Checked(operator.name, kernel), f"{Path(operator.reference).stem}.{kernel}", records))
    return found


def _judge(checked: Checked, name: str, records: list[dict[str, Any]]) -> Checked:
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
    checked.agrees = noticed and not failed
    if not checked.agrees:
        checked.reason = _reason(mine, passed, failed, noticed)
    return checked


def _aside(record: dict[str, Any]) -> str:
    """Why a failed test proves nothing, or nothing."""
    if record["status"] == "passed":
        return ""
    if "Timeout" in (record["reason"] or ""):
        return "out of time"
    meaningless = {f.partition(":")[0] for found in record["findings"].values() for f in found} & NO_MEANING
    return f"the sanitizer found: {', '.join(sorted(meaningless))}" if meaningless else ""


def _reason(mine: list[Any], passed: list[Any], failed: list[Any], noticed: bool) -> str:
    if failed:
        return f"{len(failed)} of {len(mine)} tests failed: {failed[0]['reason']}"
    if not mine:
        return "no test launched it"
    return "its tests do not notice when its results are falsified" if passed and not noticed else "no test passed"


def report(checked: list[Checked], repository: str) -> dict[str, Any]:
    """The dated document that is kept."""
    import torch

    agree = sum(one.agrees for one in checked)
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "what": "TileGym's own tests on CPU tensors, kernels run by Tileport's interpreter, against PyTorch",
        "command": "python tests/soak/interpreted.py --repo TILEGYM --report FILE",
        "tilegym": repository,
        "torch": torch.__version__,
        "kernels": len(checked),
        "agree": agree,
        "results": [asdict(one) for one in checked],
    }


def _captured(checkout: Checkout, operators: list[Operator]) -> Capture:
    with tempfile.TemporaryDirectory(prefix="tileport-interpreted-") as folder:
        limits = Limits(seconds=1800)
        return capture(checkout, operators, ["sm_90"], Path(folder), limits=limits, tuning=False)[0]


def _version(checkout: Checkout) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout.root), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return f"commit {done.stdout.strip()}" if done.returncode == 0 else "wheel"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, required=True, help="a TileGym checkout, or a wheel unpacked")
    parser.add_argument("--each", type=int, default=3, help="tests for each kernel")
    parser.add_argument("--seconds", type=int, default=90, help="for one test")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--records", type=Path, help="also write what each test gave")
    parser.add_argument("--capture", type=Path, help="a capture.json of all of them, instead of capturing anew")
    parser.add_argument("operators", nargs="*", help="all of them if none is named")
    options = parser.parse_args()
    checkout = open_checkout(options.repo)
    operators = [o for o in read_operators(checkout) if not options.operators or o.name in options.operators]
    testable = [o for o in operators if o.tests] or operators
    captured = read_capture(options.capture) if options.capture else _captured(checkout, testable)
    records = interpret(checkout, testable, chosen(captured, options.each), options.seconds)
    if options.records:
        options.records.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    checked = judged(operators, records)
    document = report(checked, _version(checkout))
    if options.report:
        options.report.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for one in checked:
        print(f"{one.operator:28} {one.kernel:52} {'agrees' if one.agrees else one.reason[:100]}")
    print(f"{document['agree']} of {document['kernels']} kernels agree with PyTorch")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
