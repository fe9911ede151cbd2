"""TileGym's own ports through `verify`, in all their captured specialisations: counts, differences, tuning spaces.

`python tests/soak/verify_ports.py --repo TILEGYM --library SO --report FILE`. The report holds counts and figures
only, no Tile IR and none of TileGym's text.
"""

from __future__ import annotations

import argparse
import datetime
import json
import tempfile
import time
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from tileport_skill.capture.cache import read_bytecode
from tileport_skill.capture.records import PortRecording
from tileport_skill.capture.session import read_capture
from tileport_skill.tilegym.operators import Operator, open_checkout, read_operators
from tileport_skill.tileir.assemble import Cubin, assemble, disassemble, toolchain_version
from tileport_skill.tileir.cubin import instruction_count, remarks
from tileport_skill.tileir.outline import Outline, outline_of
from tileport_skill.verify import BUDGET, Row, exit_status, verify
from tileport_skill.verify_page import why


@cache
def configuration(sha256: str, arch: str) -> Outline:
    return outline_of(disassemble(read_bytecode(sha256)), arch)


def spaces(folder: Path, arch: str, seconds: float) -> dict[str, Any]:
    """Per kernel and side the configurations its tuner tries, each with the instructions of one compiled kernel."""
    captured = read_capture(folder / arch / "capture.json")
    recorded = TypeAdapter(PortRecording).validate_json((folder / arch / "port" / "port.json").read_bytes())
    known = {s.id: s for s in captured.specialisations}
    sides: dict[str, dict[Outline, str]] = {}
    for launch in captured.launches:
        if (ir := known[launch.specialisation].ir) is not None:
            sides.setdefault(f"reference: {launch.kernel}", {}).setdefault(configuration(ir.sha256, arch), ir.sha256)
    for made in recorded.launches:
        name = f"port: {made.ir.symbol.removesuffix('_entry')}"
        sides.setdefault(name, {}).setdefault(configuration(made.ir.sha256, arch), made.ir.sha256)
    return {
        name: [{"configuration": str(one), **measured(sha, arch, seconds)} for one, sha in found.items()]
        for name, found in sides.items()
        if len(found) > 1 or len(sides) > 2
    }


@cache
def measured(sha256: str, arch: str, seconds: float) -> dict[str, Any]:
    if not seconds:
        return {}
    cubin = assemble(read_bytecode(sha256), arch, seconds)
    if not isinstance(cubin, Cubin):
        return {"instructions": None, "remarks": cubin.reason[:120]}
    return {"instructions": instruction_count(cubin), "remarks": dict(sorted(remarks(cubin).items()))}


def counted(rows: tuple[Row, ...]) -> list[dict[str, Any]]:
    """For each kernel and architecture how many rows have which verdict, why, and which kinds of differences."""
    found: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.arch, row.kernel, row.verdict.verdict, why(row)), []).append(row)
    return [
        {
            "arch": arch,
            "kernel": kernel,
            "verdict": verdict,
            "compiled kernels": len(members),
            "counted": members[0].counts,
            "why": reason[:400],
            "inputs that agree": sorted(Counter(getattr(r.verdict, "tested", 0) for r in members).items()),
            "differences": dict(
                Counter(f"{d.severity}: {d.kind}" for r in members for d in r.verdict.differences).most_common()
            ),
            "instructions": sorted(
                {d.text for r in members for d in r.verdict.differences if d.kind == "instructions"}
            )[:6],
        }
        for (arch, kernel, verdict, reason), members in sorted(found.items())
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True, help="the built libcutile_kernels.so")
    parser.add_argument("--arch", action="append", help="sm_90 and sm_100 if not given")
    parser.add_argument("--seconds", type=float, default=3.0, help="for the interpreter, for one pair")
    parser.add_argument("--assembling", type=float, default=60.0, help="for tileiras, for one kernel; 0 leaves it out")
    parser.add_argument("--quick", action="store_true", help="assemble only what graphs cannot show equal")
    parser.add_argument("--report", type=Path)
    parser.add_argument("operators", nargs="*")
    options = parser.parse_args()
    checkout = open_checkout(options.repo)
    chosen = [
        o for o in read_operators(checkout) if o.ported and (not options.operators or o.name in options.operators)
    ]
    budget = replace(BUDGET, seconds=options.seconds, assembling=options.assembling or 1e-3, any_speed=options.quick)
    document: dict[str, Any] = {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "command": "python tests/soak/verify_ports.py --repo TILEGYM --library SO --report FILE",
        "compiler": f"tileiras {toolchain_version()}",
        "operators": {},
    }
    for operator in chosen:
        document["operators"][operator.name] = _verified(checkout, operator, options, budget)
        if options.report:
            options.report.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(operator.name, json.dumps(document["operators"][operator.name]["verdicts"]), flush=True)
    return 0


def _verified(checkout: Any, operator: Operator, options: argparse.Namespace, budget: Any) -> dict[str, Any]:
    began = time.monotonic()
    archs = options.arch or ["sm_90", "sm_100"]
    with tempfile.TemporaryDirectory(prefix="tileport-ports-") as scratch:
        folder = Path(scratch)
        rows = verify(checkout, operator, archs, folder, None, options.library, budget=budget)
        took = time.monotonic() - began
        return {
            "verdicts": dict(Counter(f"{r.arch} {r.verdict.verdict}" for r in rows if r.counts)),
            "exit status": exit_status(rows),
            "seconds": round(took),
            "rows": counted(rows),
            "tuning spaces": {arch: spaces(folder, arch, options.assembling) for arch in archs},
        }


if __name__ == "__main__":
    raise SystemExit(main())
