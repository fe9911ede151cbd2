"""A checkout of our own without its port, and a working folder beside it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tileport_skill.__main__ import app
from tileport_skill.pipeline.work import Work
from tileport_skill.running import in_place
from tileport_skill.running.pytorch import interpret

DATA = Path(__file__).parents[2] / "data" / "checkout"
KERNEL = "tilegym/ops/cutile_rs/scale_kernel/kernel.rs"
GOOD = (DATA / KERNEL).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Place:
    """A port in the making, driven by its commands."""

    repo: Path
    work: Work

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(app, [*arguments, "--work", str(self.work.root)])

    def begin(self) -> Result:
        return self.run("preflight", "scale", "--repo", str(self.repo))

    def report(self, text: str) -> None:
        """What the role that is due says."""
        step = self.work.step()
        path = self.work.report(step.role, self.work.history())  # type: ignore[union-attr]
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def submit(self, role: str, text: str | None) -> str:
        if text is not None:
            self.report(text)
        done = self.run("submit", role)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output

    def write_kernel(self, edit: Callable[[str], str] = str) -> None:
        (self.repo / KERNEL).parent.mkdir(exist_ok=True)
        (self.repo / KERNEL).write_text(edit(GOOD), encoding="utf-8")


def _new(folder: Path) -> Place:
    shutil.copytree(DATA, folder / "repo")
    shutil.rmtree(folder / "repo/tilegym/ops/cutile_rs/scale_kernel")
    return Place(repo=folder / "repo", work=Work(folder / "work"))


@pytest.fixture(scope="session")
def interpreted_before() -> dict[str, list[dict[str, Any]]]:
    return {}


@pytest.fixture(autouse=True)
def interpreted_once(monkeypatch: pytest.MonkeyPatch, interpreted_before: dict[str, list[dict[str, Any]]]) -> None:
    """What the interpreter found in the tests of one bytecode stands for the same bytecode in later tests of ours."""

    def remembered(*given: Any, ports: dict[str, str], **more: Any) -> list[dict[str, Any]]:
        contents = sorted(hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in ports.values())
        key = "".join(contents)
        if key not in interpreted_before:
            interpreted_before[key] = interpret(*given, ports=ports, **more)
        return interpreted_before[key]

    monkeypatch.setattr(in_place, "interpret", remembered)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return _new(tmp_path)


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The captures of the reference, made once by the analyzer's own validator."""
    first = _new(tmp_path_factory.mktemp("facts"))
    first.begin()
    first.submit("analyzer", "Six launches.\n\nverdict: pass\n")
    assert first.work.history()[-1].facts[0] == "1 of 1 kernels are launched: _scale_kernel"
    return first.work.root / "facts"


@pytest.fixture
def analyzed(place: Place, facts: Path) -> Place:
    """A port whose analyzer is done."""
    place.begin()
    shutil.copytree(facts, place.work.root / "facts")
    place.submit("analyzer", "verdict: pass\n")
    return place
