"""`python -m tests.hostile.one JOB OUT ASSEMBLER SECONDS`: one correctness run, and `problems.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tileport_skill.correctness.decide import not_measured, problems
from tileport_skill.correctness.records import read_job
from tileport_skill.correctness.session import judge
from tileport_skill.errors import MachineryError


def main() -> int:
    job, out, assembler, seconds = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4])
    fired: dict[str, list[str]] = {}
    try:
        evidence = judge(read_job(job), out, assembler, seconds)
    except MachineryError as error:
        broken: str | None = f"broke down: {error}"
    else:
        broken = not_measured(evidence)
        for problem in problems(evidence):
            fired.setdefault(problem.check, []).append(problem.text)
    document = {"broken": broken, "fired": fired}
    (out / "problems.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
