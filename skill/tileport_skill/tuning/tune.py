"""READ FIRST. A tuning: calls captured with a widened space, kernels assembled, contenders planned; measured on a GPU.

    shapes ─capture─▶ explored ─cubins─▶ pruned ─plan─▶ folder ─campaign (GPU)─▶ samples ─judged─▶ Table ─draft─▶ port
                                                          └──────carried to another machine and back

Everything up to the folder, and everything after the samples, needs no GPU.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.capture.child import Limits
from tileport_skill.capture.session import capture
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout, Operator
from tileport_skill.timing.raw import read_json, write_json
from tileport_skill.tuning.cubins import Assembled, Store, assemble_all, hashes
from tileport_skill.tuning.explored import CASES, explored
from tileport_skill.tuning.folder import FORMAT, TuningFolder
from tileport_skill.tuning.plan import Planned, planned
from tileport_skill.tuning.pruning import wanted
from tileport_skill.tuning.shapes import task_of
from tileport_skill.tuning.space import MOST

MINUTES = 10.0
"""What one operator may take on the CPU."""
_CAPTURE_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One operator, ready for a GPU."""

    operator: str
    plan: Planned
    tried: int
    """Candidates recorded, over all calls and ways to make them."""
    kernels: int
    """Different Tile IR among them."""
    assembled: int
    cubins: int
    """Different cubins that are carried."""
    carried_bytes: int
    capture_seconds: float
    assemble_seconds: float
    """Wall time of both; what was in the cache took none."""
    compiler_seconds: float
    """What `tileiras` took for all kernels, cached ones too."""


def prepare(
    checkout: Checkout,
    operator: Operator,
    arch: str,
    minutes: float = MINUTES,
    most: int = MOST,
    workers: int = 0,
    say: Callable[[str], None] = lambda _text: None,
) -> Prepared:
    """Everything that needs no GPU. `RequestError` for an operator without rows, or one that launches nothing."""
    task = task_of(operator.name)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tileport-tune-") as folder:
        limits = Limits(seconds=max(60.0, 60 * minutes * _CAPTURE_SHARE))
        (captured,) = capture(
            checkout, [operator], [arch], Path(folder), limits=limits, for_ports=False, files=(CASES,), widen=most
        )
    capture_seconds = time.monotonic() - started
    calls = explored(task, captured)
    sites = [site for call in calls for way in call.ways for site in way.sites]
    if not sites:
        raise RequestError(f"No call of {operator.name} launches a kernel, so there is nothing to tune.")
    irs = wanted(sites)
    say(f"{operator.name}: {len(irs)} kernels of {sum(len(site.tried) for site in sites)} candidates")
    started = time.monotonic()
    answers = assemble_all(irs, captured.arch, 60 * minutes - capture_seconds, workers, say)
    assemble_seconds = time.monotonic() - started
    plan = planned(checkout, operator, task, captured, calls, answers)
    carried = set(plan.keys.values())
    sizes = {one.sha256: one.size for one in answers.values() if isinstance(one, Assembled)}
    return Prepared(
        operator=operator.name,
        plan=plan,
        tried=sum(len(site.tried) for site in sites),
        kernels=len(irs),
        assembled=sum(isinstance(one, Assembled) for one in answers.values()),
        cubins=len(set(hashes(answers)) & carried),
        carried_bytes=sum(sizes[sha256] for sha256 in carried),
        capture_seconds=round(capture_seconds, 1),
        assemble_seconds=round(assemble_seconds, 1),
        compiler_seconds=round(sum(one.seconds for one in answers.values()), 1),
    )


def lay_out(prepared: Sequence[Prepared], arch: str, root: Path) -> TuningFolder:
    """Writes the plan and its cubins. Raises `RequestError` if the folder was begun with another plan."""
    folder = TuningFolder(root)
    plan = {
        "format": FORMAT,
        "arch": arch,
        "operators": {one.operator: one.plan.document for one in prepared},
    }
    if folder.plan.is_file() and read_json(folder.plan) != plan:
        raise RequestError(f"{root} was begun with another plan. Give a new folder, or the old request again.")
    keys = {key: cubin for one in prepared for key, cubin in one.plan.keys.items()}
    store = Store(arch)
    folder.cubins.mkdir(parents=True, exist_ok=True)
    for cubin in dict.fromkeys(keys.values()):
        if not (target := folder.cubins / f"{cubin}.cubin").is_file():
            shutil.copyfile(store.path(cubin), target)
    write_json(folder.keys, keys)
    write_json(folder.plan, plan)
    return folder
