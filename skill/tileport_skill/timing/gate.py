"""Timing as one call: what the driver's performance gate and `tileport-skill bench` run."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tileport_skill.tilegym.operators import Checkout
from tileport_skill.timing.campaign import Campaign, find_library, start
from tileport_skill.timing.judging import judge, rows_needed
from tileport_skill.timing.plan import Budget, make_plan
from tileport_skill.timing.raw import RawFolder
from tileport_skill.timing.records import NotRun, Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be timed, and where its raw samples go. The same request on the same folder is continued."""

    checkout: Checkout
    operators: tuple[str, ...]
    raw: Path
    library: Path | None = None
    """The built libcutile_kernels.so; None if it lies where cargo leaves it in the checkout."""
    baseline: str = "cutile"
    candidate: str = "cutile-rs"
    budget: Budget = field(default_factory=Budget)
    seconds: float = 3600.0


def run(request: Request, say: Callable[[str], None] = print) -> tuple[Timing, ...] | NotRun:
    """Times and judges every operator; `NotRun` without a GPU, or if the time was too short.

    Raises `RequestError` for what cannot be asked (an unknown operator or backend, no library) and `MachineryError` if
    a measuring process breaks down.
    """
    plan = make_plan(request.checkout, request.operators, request.baseline, request.candidate, budget=request.budget)
    library = find_library(request.checkout, request.library)
    if (lacking := missing()) is not None:
        return NotRun(why=lacking, how=f"On a machine with an NVIDIA GPU: `{command(request)}`")
    raw = RawFolder(request.raw)
    start(raw, plan)
    if not Campaign(request.checkout, library, raw, request.seconds, say).run(rows_needed):
        return NotRun(
            why=f"{request.seconds:.0f} s were too short; what was measured is kept in {request.raw}.",
            how=f"Run the same again, it goes on where it was: `{command(request)}`",
        )
    return tuple(judge(raw, operator) for operator in request.operators)


def command(request: Request) -> str:
    """The command line of the same request, without anything of this machine but the folders given."""
    words = ["tileport-skill bench", *request.operators, "--repo", str(request.checkout.root)]
    words += ["--baseline", request.baseline, "--candidate", request.candidate, "--raw", str(request.raw)]
    if request.library is not None:
        words += ["--library", str(request.library)]
    return " ".join(words)


def read(raw: Path, operators: Sequence[str] = ()) -> tuple[Timing, ...]:
    """Judges samples taken earlier or elsewhere; all operators of the folder unless some are named."""
    from tileport_skill.errors import RequestError
    from tileport_skill.timing.raw import read_json

    folder = RawFolder(raw)
    if not folder.plan.is_file():
        raise RequestError(f"{raw} is no folder of raw samples: it has no plan.json.")
    return tuple(judge(folder, operator) for operator in operators or read_json(folder.plan)["operators"])


def missing() -> str | None:
    """Why nothing can be measured here; None if it can be tried."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "An NVIDIA GPU is needed, and this machine has no NVIDIA driver."
    count = ctypes.c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "An NVIDIA GPU is needed, and the driver finds none."
    if importlib.util.find_spec("cupti") is None:
        return "Device time comes from CUPTI, and cupti-python is not installed: `pip install cupti-python`."
    return None
