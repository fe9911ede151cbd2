"""A disk that is or runs full stops the attempt, says what to free, and costs nothing."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tileport_driver import attempt as story
from tileport_driver import ledger
from tileport_driver.host import toolchain
from tileport_driver.progress import Progress
from tileport_driver.records import AgentRun, Inconclusive, MachineryFailed, NotPorted, PortRequest, Usage
from tileport_driver.service import begin, go_on
from tileport_driver.store import new_attempt
from tileport_skill.errors import MachineryError

REQUEST = PortRequest(
    repository="/r", operator="scale", base_commit="0" * 40, reference_hash="a" * 64, engine="anthropic"
)


@pytest.mark.parametrize("require", [story._require_disk, toolchain._require_disk])
def test_a_full_disk_is_named_with_the_setting_that_moves_the_folder(
    require: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**29))
    with pytest.raises(MachineryError, match=r"0\.5 GiB free.*TILEPORT_(STATE|CACHE)"):
        require(tmp_path)  # type: ignore[operator]


@pytest.mark.parametrize("require", [story._require_disk, toolchain._require_disk])
def test_an_empty_disk_is_fine(require: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**40))
    require(tmp_path)  # type: ignore[operator]


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The state folder on a file system of 6 MiB."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a file system")
    folder = tmp_path / "state"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tileport-test", folder], check=True)
    monkeypatch.setenv("TILEPORT_STATE", str(folder))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_disk_that_runs_full_in_the_middle_costs_no_attempt_and_the_attempt_goes_on_once_there_is_room(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room: list[bool] = []

    def fill(attempt: Any, host: Any) -> None:
        with (attempt.path / "fat").open("wb") as file:
            file.write(bytes(1 if room else 8 << 20))

    def publish(attempt: Any, host: Any) -> None:
        attempt.write("outcome", NotPorted(reasons=("as the test says",)))

    @contextmanager
    def no_host(progress: Progress, stop: Any) -> Iterator[Any]:
        yield SimpleNamespace(progress=progress, stop=stop)

    monkeypatch.setattr(story, "open_host", no_host)
    monkeypatch.setattr(story, "STAGES", stages := dict(story.STAGES))
    monkeypatch.setattr("tileport_driver.durable.STAGES", stages)
    stages.update({name: lambda attempt, host: None for name in stages} | {"run": fill, "publish": publish})
    attempt = begin(REQUEST)
    ended = go_on(attempt, Progress(), lambda: False)
    assert isinstance(ended.outcome, MachineryFailed)
    assert f"[Errno {errno.ENOSPC}]" in ended.outcome.reason
    assert "Free some of the disk" in ended.outcome.reason
    assert ledger.account(REQUEST).spent == 0
    (attempt.path / "fat").unlink()
    room.append(True)
    assert begin(REQUEST) == attempt
    assert isinstance(go_on(attempt, Progress(), lambda: False).outcome, NotPorted)


def test_an_agent_that_failed_on_a_disk_that_ran_full_did_not_fail_and_begins_again_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: list[str] = []
    failed = AgentRun(status="failed", exit_code=1, seconds=1, turns=1, usage=Usage(), summary="no space left")
    monkeypatch.setattr(story, "start_over", lambda *_: False)
    monkeypatch.setattr(story, "run_agent", lambda *_: failed)
    monkeypatch.setattr(story, "clean_up", lambda client, attempt: gone.append(attempt.id))
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path))
    attempt = new_attempt(replace(REQUEST, draft=False))
    attempt.work.joinpath("agent").mkdir(parents=True)
    host: Any = SimpleNamespace(progress=Progress(), client=None, agent_image="", toolchain=None, stop=None)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**20))
    with pytest.raises(MachineryError, match="GiB free"):
        story.run(attempt, host)
    assert (attempt.agent_run(), gone) == (None, [attempt.id])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**40))
    story.run(attempt, host)
    assert attempt.agent_run() == failed


def test_a_rejection_on_a_disk_that_ran_full_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story, "judge", lambda *_: Inconclusive(gates=()))
    monkeypatch.setattr(story, "judge_on", lambda *_: None)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**20))
    written: list[str] = []
    attempt: Any = SimpleNamespace(
        path=tmp_path,
        patch=lambda: object(),
        draft_alone=lambda: None,
        agent_run=lambda: None,
        checkout=lambda: None,
        write=lambda name, _: written.append(name),
    )
    host: Any = SimpleNamespace(progress=Progress())
    with pytest.raises(MachineryError, match="GiB free"):
        story.check(attempt, host)
    assert written == []
