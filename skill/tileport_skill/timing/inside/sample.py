"""A fresh process that measures rows: paired blocks in random order, row by row, written down after each row.

`python -m tileport_skill.timing.inside.sample FOLDER PROCESS SECONDS OTHERS OPERATOR/ROW...`. OTHERS is how many
processes used the GPU before this one started.
"""

from __future__ import annotations

import random
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch

from tileport_skill.correctness.integrity import Snapshot
from tileport_skill.timing.inside import blocks, integrity
from tileport_skill.timing.inside.calibrate import calibrate
from tileport_skill.timing.inside.compare import Difference, compare
from tileport_skill.timing.inside.cupti import TraceError, Tracer
from tileport_skill.timing.inside.session import PlannedRow, Session, versions
from tileport_skill.timing.inside.tuning import Tuner, TuningError
from tileport_skill.timing.raw import FORMAT, write_json

Answer = TypeVar("Answer")


class SideError(Exception):
    """One side's operator raised, or did something else that only that side is to blame for."""

    def __init__(self, side: str, what: str) -> None:
        super().__init__(what)
        self.side = side


def main() -> int:
    folder, process, seconds, others = Path(sys.argv[1]), *map(float, sys.argv[2:5])
    untouched = integrity.snapshot()  # before TileGym, and with it the port, is imported
    session = Session(folder, seconds)
    tuner = session.tuner(None)
    tracer = Tracer()
    common = {"format": FORMAT, "process": int(process), "started": time.time(), "versions": versions()}
    common |= {"others_before": int(others), "calibration": [asdict(point) for point in calibrate(tracer)]}
    rows = _wanted(session, sys.argv[5:])
    random.SystemRandom().shuffle(rows)
    documents: dict[str, dict[str, Any]] = {}
    slowest = 0.0
    for row in rows:
        if session.left < 2 * slowest:
            return 4
        started = time.monotonic()
        document = documents.setdefault(row.operator, {**common, "operator": row.operator, "rows": []})
        document["rows"].append(_row(session, tuner, tracer, row, untouched))
        write_json(session.raw.samples(row.operator, int(process)), document)
        slowest = max(slowest, time.monotonic() - started)
        if not _device_works():
            return 3
    after = [asdict(point) for point in calibrate(tracer)]
    for operator, document in documents.items():
        write_json(session.raw.samples(operator, int(process)), {**document, "calibration_after": after})
    return 0


def _wanted(session: Session, names: Sequence[str]) -> list[PlannedRow]:
    """The rows named `OPERATOR/ROW`; rows of different operators are mixed, so that none always comes last."""
    pairs = [name.partition("/")[::2] for name in names]
    return [row for operator, wanted in pairs for row in session.rows(operator) if row.id == wanted]


def _row(session: Session, tuner: Tuner, tracer: Tracer, row: PlannedRow, untouched: Snapshot) -> dict[str, Any]:
    """One row's record. Whatever goes wrong in it is part of it, with the side it is to blame on."""
    seed = secrets.randbits(31)
    found: dict[str, Any] = {"row": row.id, "seed": seed, "before": asdict(session.nvml.state())}
    try:
        found |= _Measurement(session, tuner, tracer, row, seed).measure()
        if replaced := untouched.changed():
            raise SideError(session.sides.candidate, f"nothing, but it replaced {', '.join(replaced)}")
    except SideError as error:
        found["error"] = {"side": error.side, "what": str(error)}
    except (TraceError, TuningError) as error:
        found["error"] = {"side": None, "what": f"{type(error).__name__}: {error}"}
    except Exception as error:  # ours, or the device's: recorded with its traceback in the log
        traceback.print_exc()
        found["error"] = {"side": None, "what": f"{type(error).__name__}: {error}"[:500]}
    found["after"] = asdict(session.nvml.state())
    torch.cuda.empty_cache()
    return found


class _Measurement:
    """One row in one process."""

    def __init__(self, session: Session, tuner: Tuner, tracer: Tracer, row: PlannedRow, seed: int) -> None:
        from tileport_skill.timing.inside import calls  # imports TileGym

        self._calls = calls
        self._session, self._tuner, self._tracer, self._row = session, tuner, tracer, row
        tuner.forget()
        self._call = calls.call_of(row.operator, row.arguments, seed)
        self._kept = [tensor.clone() for tensor in self._call.inputs]

    def measure(self) -> dict[str, Any]:
        baseline, candidate = self._session.sides.both
        # The candidate first: what the reference leaves in memory must not be there to be found.
        first = {side: self._outputs(side, tune=True) for side in (candidate, baseline)}
        difference = compare(first[baseline], first[candidate], self._row.rtol, self._row.atol)
        del first
        runner = blocks.Runner(self._tracer, self._session.flush_l2, self._session.nvml.throttle)
        calls = {side: self._bound(side) for side in (baseline, candidate)}
        kernels = {side: self._guarded(side, partial(runner.discover, call)) for side, call in calls.items()}
        measured = runner.measure(calls[baseline], calls[candidate], kernels[baseline], kernels[candidate])
        host = {side: self._host(side, kernels[side].ns) for side in calls}
        events = {side: blocks.event_ns(calls[side]) for side in calls}
        last = {side: self._outputs(side) for side in (candidate, baseline)}
        return {
            "outputs": [asdict(difference), asdict(self._compare(last[baseline], last[candidate]))],
            "inputs_changed": self._inputs_changed(),
            "kernels": {side: list(found.names) for side, found in kernels.items()},
            "blocks": [asdict(block) for block in measured],
            "host_ns": host,
            "event_ns": events,
        }

    def _compare(self, expected: list[torch.Tensor], actual: list[torch.Tensor]) -> Difference:
        return compare(expected, actual, self._row.rtol, self._row.atol)

    def _bound(self, side: str) -> Callable[[], object]:
        def run() -> object:
            self._calls.set_backend(side)
            return self._call.run()

        return run

    def _outputs(self, side: str, tune: bool = False) -> list[torch.Tensor]:
        """What `side` makes of the inputs as they were."""
        for tensor, kept in zip(self._call.inputs, self._kept, strict=True):
            if self._call.in_place or tune:
                tensor.copy_(kept)
        for tensor in self._call.written:
            tensor.fill_(float("nan") if tensor.is_floating_point() else -1)
        call = self._bound(side)
        if not tune:
            return self._guarded(side, lambda: self._copied(call()))
        raw, row = self._session.raw, self._row
        with self._tuner.row(raw.searches(self._row.operator, row.id, side)):
            return self._guarded(side, lambda: self._copied(call()))

    def _copied(self, returned: object) -> list[torch.Tensor]:
        """A tensor of another class could put its work off until it is compared."""
        found = self._calls.outputs_of(self._call, returned)
        if others := {type(tensor).__name__ for tensor in found if type(tensor) is not torch.Tensor}:
            raise TypeError(f"it returned {', '.join(sorted(others))} instead of plain tensors")
        return [tensor.clone() for tensor in found]

    def _guarded(self, side: str, work: Callable[[], Answer]) -> Answer:
        try:
            found = work()
            torch.cuda.synchronize()
        except (TraceError, TuningError):
            raise
        except Exception as error:
            traceback.print_exc()
            raise SideError(side, f"{type(error).__name__}: {error}"[:500]) from error
        return found

    def _host(self, side: str, device_ns: int) -> dict[str, int]:
        self._calls.set_backend(side)
        return blocks.host_ns(self._call.run, device_ns)

    def _inputs_changed(self) -> bool:
        if self._call.in_place:
            return False
        return not all(
            torch.equal(_bits(tensor), _bits(kept)) for tensor, kept in zip(self._call.inputs, self._kept, strict=True)
        )


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """As bytes, so that NaN equals NaN and fp8 can be compared."""
    return tensor.contiguous().view(torch.uint8)


def _device_works() -> bool:
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
