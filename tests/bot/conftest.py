"""What the bot's tests work with: a small checkout, GitHub's events, a driver that does as it is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.bot.fakegithub.fixtures import contract, fake

from tileport_bot.driver import FileChange, Finished, Rerun, Watch
from tileport_bot.github import DryRunGitHub
from tileport_bot.handle import Bot, Handled, handle, port_now
from tileport_bot.memory import IssueMemory
from tileport_bot.permissions import Permission
from tileport_bot.status import Stage
from tileport_driver.records import (
    Delivery,
    Failed,
    Inconclusive,
    NotPorted,
    NotRun,
    Passed,
    Rejected,
    Unproved,
    Usage,
)
from tileport_driver.report import IrRow

__all__ = ["contract", "fake"]  # fixtures of the stand-in for GitHub

EVENTS = Path(__file__).parents[1] / "data" / "events"

KERNEL = """
@ct.kernel
def {name}_kernel(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)


@register_impl("{name}", backend="cutile")
def {name}(x):
    return x
"""


def event(name: str) -> dict[str, Any]:
    document = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


MISSING = NotRun(
    gate="correctness",
    why="There is no GPU here.",
    how="On a GPU machine, in a clone of this branch: `pytest tests/ops/test_silu_and_mul.py -k cutile-rs`.",
)


def unproved() -> Finished:
    return Finished(
        outcome=Unproved(delivery=Delivery(branch="port/silu_and_mul", commit="89ab" * 10), missing=(MISSING,)),
        acceptance=Inconclusive(
            gates=(
                Passed(gate="policy", evidence=("It touches the 6 files of a port and no other.",), seconds=0.02),
                Passed(gate="tile-ir", evidence=("3 of 3 specialisations are equal.",), seconds=4.8),
                MISSING,
            )
        ),
        changes=(FileChange("src/tilegym/ops/cutile_rs/silu_and_mul.py", 41, 0),),
        ir_rows=(
            IrRow(
                kernel="silu_and_mul_kernel",
                dtype="float16",
                arch="sm_100",
                verdict="equal",
                proof="same cubin",
            ),
        ),
        reruns=(Rerun("policy", "git diff --name-only main...port/silu_and_mul"),),
        usage=Usage(input_tokens=41_000, output_tokens=5_200),
    )


def rejected(
    attempt_dir: Path, log: str = "   Compiling\nerror[E0308]: mismatched types\n --> kernel.rs:2:13\n"
) -> Finished:
    attempt_dir.mkdir(parents=True, exist_ok=True)
    (attempt_dir / "build.log").write_text(log, encoding="utf-8")
    gates = (
        Passed(gate="policy", evidence=("It touches the 6 files of a port and no other.",)),
        Failed(
            gate="build",
            reasons=("`cargo build` ended with 101: mismatched types in kernel.rs",),
            files=("build.log",),
        ),
        NotRun(gate="tile-ir", why="The build failed before it.", how="It runs by itself once the build passes."),
    )
    return Finished(
        outcome=NotPorted(reasons=("The gate build failed.",)),
        acceptance=Rejected(gates=gates),
        attempt_dir=attempt_dir,
        reports=("report.html", "report.md"),
    )


@dataclass
class ScriptedDriver:
    """Goes through the stages and ends as scripted; an exception in `ends` is raised."""

    ends: list[Finished | BaseException]
    ran: list[tuple[str, int]] = field(default_factory=list)
    while_running: Callable[[], object] = lambda: None

    def run(self, operator: str, repository: Path, attempt: int, watch: Watch) -> Finished:
        self.ran.append((operator, attempt))
        watch.stage(Stage.PREPARING)
        watch.stage(Stage.RUNNING)
        self.while_running()
        watch.stage(Stage.CAPTURED)
        watch.stage(Stage.CHECKING)
        end = self.ends.pop(0)
        if isinstance(end, BaseException):
            raise end
        return end


@dataclass
class Room:
    """A bot on a dry run, and what it has written so far."""

    bot: Bot
    driver: ScriptedDriver
    out: Path
    said: list[str]

    def handle(self, name: str, payload: dict[str, Any] | None = None) -> Handled:
        return handle(self.bot, name.partition(".")[0], event(name) if payload is None else payload)

    def writes(self) -> list[str]:
        return [json.loads(path.read_text())["write"] for path in sorted(self.out.glob("*.json"))]

    def comment(self, number: int = 1) -> str:
        return (self.out / f"comment-{number}.md").read_text(encoding="utf-8")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with two operators of our own, in TileGym's form."""
    root = tmp_path / "checkout"
    (root / "src/tilegym/ops/cutile_rs").mkdir(parents=True)
    (root / "src/tilegym/ops/cutile").mkdir()
    for name in ("silu_and_mul", "rms_norm"):
        (root / f"src/tilegym/ops/cutile/{name}.py").write_text(KERNEL.format(name=name))
    return root


def _clock() -> Iterator[datetime]:
    time = datetime(2026, 8, 22, 12, 3, tzinfo=UTC)
    while True:
        yield time
        time += timedelta(minutes=1)


MakeRoom = Callable[..., Room]


@pytest.fixture
def make_room(checkout: Path, tmp_path: Path) -> MakeRoom:
    def make(*ends: Finished | BaseException, permission: Permission = Permission.WRITE, drafts: bool = True) -> Room:
        said: list[str] = []
        driver = ScriptedDriver(list(ends))
        out = tmp_path / "out"
        clock = _clock()
        github = DryRunGitHub(out, permission=permission, say=said.append)
        bot = Bot(
            github=github,
            driver=driver,
            memory=IssueMemory(github),
            checkout=checkout,
            start=port_now,
            drafts=drafts,
            now=lambda: next(clock),
            log=said.append,
        )
        return Room(bot, driver, out, said)

    return make
