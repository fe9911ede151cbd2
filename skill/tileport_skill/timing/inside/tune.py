"""A process that tunes one side on every row of the plan, and writes each winner down as soon as it is known.

`python -m tileport_skill.timing.inside.tune FOLDER SIDE SECONDS`. Ends with 0 when every row is tuned or has been
tried; killed or broken off, it is started again and goes on where it was.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import torch
from tilegym.backend import set_backend

from tileport_skill.timing.inside.calls import call_of
from tileport_skill.timing.inside.cupti import Tracer
from tileport_skill.timing.inside.session import PlannedRow, Session, cold_time
from tileport_skill.timing.inside.tuning import DeviceLostError, Tuner
from tileport_skill.timing.raw import write_json

MOST_TRIES = 3
"""Starts of one row after which it is given up: something in it ends every process."""


def main() -> int:
    folder, side, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    session = Session(folder, seconds)
    # The reference searches by itself, with a clock of its own; CUPTI is for the port's list.
    tracer = Tracer() if side == session.sides.candidate else None
    tuner = session.tuner(_never if tracer is None else cold_time(tracer, session.flush_l2))
    set_backend(side)
    for row in (row for operator in session.plan["operators"] for row in session.rows(operator)):
        if session.raw.tuned(row.operator, row.id, side).is_file():
            continue
        if session.left < 0:
            return 4
        _tune(session, tuner, row, side)
    return 0


def _tune(session: Session, tuner: Tuner, row: PlannedRow, side: str) -> None:
    raw = session.raw
    tries = raw.tries(row.operator, row.id, side)
    if tries >= MOST_TRIES:
        write_json(raw.tuned(row.operator, row.id, side), {"error": f"broke off {tries} times"})
        return
    raw.count_try(row.operator, row.id, side)
    error = None
    tuner.forget()
    try:
        with tuner.row(raw.searches(row.operator, row.id, side)):
            call_of(row.operator, row.arguments, 0).run()
            torch.cuda.synchronize()
    except DeviceLostError:
        raise
    except Exception as raised:  # an operator may raise anything; it is written down and judged later
        error = f"{type(raised).__name__}: {raised}"[:500]
        print(f"{row.id} on {side}:", file=sys.stderr)
        traceback.print_exc()
    write_json(raw.tuned(row.operator, row.id, side), {"error": error})
    torch.cuda.empty_cache()


def _never(_call: object) -> float:
    raise AssertionError("the reference brings its own clock")


if __name__ == "__main__":
    sys.exit(main())
