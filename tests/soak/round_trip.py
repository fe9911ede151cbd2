"""Printing what was parsed gives back `tileirdisasm`'s text, for every Tile IR in the cache of captures.

`python tests/soak/round_trip.py [--report FILE]` after `tileport-skill capture --all` or `survey` has filled the cache.
Stops at nothing: whatever does not come back is counted by its message.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from tileport_skill.capture.cache import cache_folder
from tileport_skill.tileir.assemble import Refused, disassemble, toolchain_version
from tileport_skill.tileir.parse import ParseError, parse
from tileport_skill.tileir.printing import print_module


def one(path: Path) -> tuple[str, int, float]:
    """What became of one file, its lines, and the seconds that parsing took."""
    text = disassemble(path.read_bytes())
    if isinstance(text, Refused):
        return f"tileirdisasm: {text.reason.splitlines()[0][:120]}", 0, 0.0
    started = time.process_time()
    try:
        module = parse(text)
    except ParseError as error:
        return f"parse: {str(error).splitlines()[0][:120]}", text.count("\n"), 0.0
    seconds = time.process_time() - started
    same = print_module(module) == text
    return "the same text" if same else "another text", text.count("\n"), seconds


def run(paths: Iterable[Path], workers: int) -> dict[str, object]:
    """The whole cache; figures for the report."""
    outcomes: Counter[str] = Counter()
    lines, seconds = 0, 0.0
    with ProcessPoolExecutor(workers) as pool:
        for outcome, count, took in pool.map(one, paths, chunksize=16):
            outcomes[outcome] += 1
            lines += count
            seconds += took
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "tileirdisasm": toolchain_version(),
        "kernels": sum(outcomes.values()),
        "lines": lines,
        "lines_a_second_of_processor_time": round(lines / seconds) if seconds else None,
        "outcomes": dict(outcomes.most_common()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", type=Path, help="write the figures as JSON")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    paths = sorted(cache_folder("ir").glob("*.tileirbc"))
    if not paths:
        print("The cache holds no Tile IR: run `tileport-skill capture --all --repo R` first.", file=sys.stderr)
        return 2
    report = run(paths, options.workers)
    print(json.dumps(report, indent=1))
    if options.report:
        options.report.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    outcomes = report["outcomes"]
    assert isinstance(outcomes, dict)
    return 0 if set(outcomes) <= {"the same text"} else 1


if __name__ == "__main__":
    sys.exit(main())
