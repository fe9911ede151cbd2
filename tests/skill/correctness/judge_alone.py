"""`python judge_alone.py JOB OUT TRACER SECONDS`: `judge` with stand-ins for both sides, in a process of its own.

It adopts orphans and ends every child: in the tests' own process those may be another test's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tileport_skill.correctness import session
from tileport_skill.correctness.records import read_job
from tileport_skill.errors import MachineryError


def main() -> int:
    job, out, tracer, seconds = sys.argv[1:]
    session._CHILD, session._TRACER = "stand_in_child", tracer
    try:
        session.judge(read_job(Path(job)), Path(out), Path("/bin/true"), float(seconds))
    except MachineryError as error:
        print(error, file=sys.stderr)
        return 13
    return 0


if __name__ == "__main__":
    sys.exit(main())
