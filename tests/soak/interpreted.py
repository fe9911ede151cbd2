"""Is the interpreter right? TileGym's own tests on CPU tensors, its kernels interpreted, PyTorch as reference.

`python tests/soak/interpreted.py --repo TILEGYM --report FILE` runs the cheapest tests of every kernel, at the
tests' own tolerances; a kernel counts as checked when a test passes and fails once the kernel is falsified.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tileport_skill.capture.child import Limits
from tileport_skill.capture.records import Capture
from tileport_skill.capture.session import capture, read_capture
from tileport_skill.running.pytorch import Agreement, chosen, interpret, judged
from tileport_skill.tilegym.operators import Checkout, Operator, open_checkout, read_operators


def report(checked: list[Agreement], repository: str) -> dict[str, Any]:
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
    records = interpret(checkout, testable, chosen(captured, testable, options.each), options.seconds)
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
