"""What a process with the GPU measures with: the plan, the rig, and one call held by the reference's own choice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from tilegym.backend import set_backend

from tileport_skill.timing.inside import integrity
from tileport_skill.timing.inside.blocks import Block, Kernels, Runner
from tileport_skill.timing.inside.calls import call_of, outputs_of
from tileport_skill.timing.inside.compare import Difference, compare
from tileport_skill.timing.inside.cupti import TraceError, Tracer
from tileport_skill.timing.inside.nvml import Nvml
from tileport_skill.timing.inside.session import COLD_BYTES
from tileport_skill.timing.plan import COMPILE_LIMIT
from tileport_skill.timing.raw import read_json
from tileport_skill.tuning.candidates import Choice
from tileport_skill.tuning.folder import TuningFolder
from tileport_skill.tuning.inside.rig import BACKEND, Carried, Prepared, Rig

Answer = TypeVar("Answer")


class SideProblem(Exception):
    """A choice raised, or its outputs are wrong."""


class Bench:
    """A plan in one process: one operator of it at a time."""

    def __init__(self, folder: Path, operator: str, seconds: float) -> None:
        self.folder = TuningFolder(folder)
        self._document: dict[str, Any] = read_json(self.folder.plan)
        self.turn_to(operator)
        self._ends = time.monotonic() + seconds
        self._before = integrity.snapshot()
        self._cold = torch.empty(COLD_BYTES >> 2, device="cuda", dtype=torch.int32)
        self.nvml = Nvml(str(torch.cuda.get_device_properties(0).uuid))
        self.rig = Rig(COMPILE_LIMIT, Carried(self.folder.keys, self.folder.cubins, self.plan["arch"]))
        self.rig.install()
        set_backend(BACKEND)
        self.tracer = Tracer()
        self.runner = Runner(self.tracer, self._flush, self.nvml.throttle)

    def turn_to(self, operator: str) -> None:
        """Makes this operator's part of the plan the one at hand."""
        self.operator, self.plan = operator, self._document["operators"][operator]

    def _flush(self) -> None:
        self._cold.zero_()

    @property
    def left(self) -> float:
        """Seconds until this process must have ended."""
        return self._ends - time.monotonic()

    def untouched(self) -> None:
        """Raises `RuntimeError` if what measures was replaced since the process began."""
        if replaced := self._before.changed():
            raise RuntimeError(f"the operator replaced {', '.join(replaced)}")

    def disturbed(self) -> str | None:
        """Why nothing that is measured now would count."""
        state = self.nvml.state()
        others = (state.processes or 1) - 1
        return f"{others} other processes use the GPU" if others > 0 else None

    def works(self) -> bool:
        """After an illegal access every later call fails too."""
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return False
        return True

    def hold(self, call: dict[str, Any], seed: int) -> Held:
        return Held(self, call, seed)


class Held:
    """One call on fresh inputs, prepared by the reference's own choice; others are held against it."""

    def __init__(self, bench: Bench, call: dict[str, Any], seed: int) -> None:
        self._bench, self._plan = bench, call
        arguments = {name: tuple(v) if isinstance(v, list) else v for name, v in call["arguments"].items()}
        self.call = call_of(bench.operator, arguments, seed)
        self._kept = [tensor.clone() for tensor in self.call.inputs]
        self.own = self.prepared(Choice())
        self.expected = self._outputs(self.own)
        self.kernels = self._guarded(lambda: bench.runner.discover(self.own.run))

    def prepared(self, choice: Choice) -> Prepared:
        """Raises `SideProblem` if the call cannot be made so."""
        ways = self._plan["ways"]
        way = next(i for i, kept in enumerate(ways) if _same(kept, choice))
        record = self._bench.folder.own_search(self._bench.operator, self._plan["number"], way)
        self._restore()
        return self._guarded(lambda: self._bench.rig.prepared(choice, record, self.call.run))

    def compared(self, prepared: Prepared) -> Difference:
        """Its outputs against the reference's."""
        return compare(self.expected, self._outputs(prepared), self._bench.plan["rtol"], self._bench.plan["atol"])

    def blocks(self, choice: Choice, count: int) -> list[Block]:
        """Paired blocks with a cold L2. Raises `SideProblem` if the choice does not work, or not right."""
        prepared = self.prepared(choice)
        if (problem := self.compared(prepared).problem) is not None:
            raise SideProblem(f"its output is wrong: {problem}")
        kernels = self._guarded(lambda: self._bench.runner.discover(prepared.run))
        return self._guarded(lambda: self._bench.runner.cold(self.own.run, prepared.run, self.kernels, kernels, count))

    def discovered(self, prepared: Prepared) -> Kernels:
        return self._guarded(lambda: self._bench.runner.discover(prepared.run))

    def inputs_changed(self) -> bool:
        if self.call.in_place:
            return False
        pairs = zip(self.call.inputs, self._kept, strict=True)
        return not all(torch.equal(_bits(tensor), _bits(kept)) for tensor, kept in pairs)

    def _restore(self) -> None:
        for tensor, kept in zip(self.call.inputs, self._kept, strict=True):
            tensor.copy_(kept)

    def _outputs(self, prepared: Prepared) -> Sequence[torch.Tensor]:
        self._restore()
        for tensor in self.call.written:
            tensor.fill_(float("nan") if tensor.is_floating_point() else -1)
        return self._guarded(lambda: [tensor.clone() for tensor in outputs_of(self.call, prepared.run())])

    def _guarded(self, work: Callable[[], Answer]) -> Answer:
        try:
            found = work()
            torch.cuda.synchronize()
        except TraceError:
            raise
        except Exception as error:  # an operator may raise anything
            raise SideProblem(f"{type(error).__name__}: {error}"[:500]) from error
        return found


def _same(way: dict[str, Any], choice: Choice) -> bool:
    return bool(way["options"] == dict(choice.options) and way["copies"] == choice.copies)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """As bytes, so that NaN equals NaN and fp8 can be compared."""
    return tensor.contiguous().view(torch.uint8)
