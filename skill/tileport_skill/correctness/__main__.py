"""`python -m tileport_skill.correctness JOB OUT`: on a machine with a GPU; needs torch, pytest, cuda-tile, cupti."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from tileport_skill.correctness.decide import judgement
from tileport_skill.correctness.orphans import end_when_told
from tileport_skill.correctness.records import read_job
from tileport_skill.correctness.session import SIDE_SECONDS, judge
from tileport_skill.errors import MachineryError


def main() -> int:
    options = _parser().parse_args()
    end_when_told()
    try:
        evidence = judge(read_job(options.job), options.out, _assembler(options.tileiras), options.seconds)
    except MachineryError as error:
        print(f"The correctness run broke down: {error}", file=sys.stderr)
        return 13
    found = judgement(evidence)
    if isinstance(found, str):
        print(f"Nothing was measured: {found}", file=sys.stderr)
        return 11
    for problem in found:
        print(f"{problem.check}: {problem.text}")
    if not found:
        print(f"Nothing against it: {len(evidence.port.tests)} tests, {len(evidence.comparisons)} calls compared.")
    return 10 if found else 0


def _assembler(given: Path | None) -> Path:
    named = given or os.environ.get("CUTILE_TILEIRAS_PATH") or shutil.which("tileiras")
    if not named or not Path(named).is_file():
        raise MachineryError("no tileiras here: pip install 'cuda-tile[tileiras]', or give its path with --tileiras.")
    return Path(named)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tileport_skill.correctness", description=__doc__)
    parser.add_argument("job", type=Path, help="job.json, as `tileport judge --pack` writes it")
    parser.add_argument("out", type=Path, help="folder for the evidence")
    parser.add_argument("--tileiras", type=Path, help="the assembler; found in CUTILE_TILEIRAS_PATH or PATH without")
    parser.add_argument("--seconds", type=float, default=SIDE_SECONDS, help="limit for each side (default %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
