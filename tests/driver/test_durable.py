"""What DBOS may record of a stage, and what it never may."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.driver.test_workers import REQUEST
from tileport_driver import attempt as attempts
from tileport_driver.container import Stopped
from tileport_driver.durable import Undone, _stage, run_durably
from tileport_driver.failures import Transient
from tileport_driver.store import AttemptFolder, new_attempt
from tileport_skill.errors import MachineryError

Stage = Callable[[AttemptFolder, Any], None]


HOST: Any = SimpleNamespace(stop=lambda: False)


def stages(
    monkeypatch: pytest.MonkeyPatch, fails_at: str = "", with_each_of: list[BaseException] | None = None
) -> list[str]:
    """Stages that note their names in what is returned."""
    done: list[str] = []

    def stage(name: str) -> Stage:
        def run(one: AttemptFolder, host: Any) -> None:
            if name == fails_at and with_each_of:
                raise with_each_of.pop(0)
            done.append(name)

        return run

    for name in attempts.STAGES:
        monkeypatch.setitem(attempts.STAGES, name, stage(name))
    return done


@pytest.fixture
def attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AttemptFolder:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    return new_attempt(REQUEST)


def test_a_stage_of_an_attempt_nobody_here_waits_for_is_left_undone_and_not_recorded_as_an_error() -> None:
    with pytest.raises(Undone) as left:
        _stage("op01-20261130-222527-bf0186", "prepare")
    assert isinstance(left.value.cause, Transient)
    assert not isinstance(left.value, Exception), "DBOS records those"


@pytest.mark.timeout(60)
def test_whoever_goes_on_with_an_attempt_is_told_of_the_next_failure_too(
    attempt: AttemptFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DBOS runs again by itself what it finds undone, and tells nobody how that ended."""
    troubles = [MachineryError("the disk is full"), Transient("Docker is away"), Stopped()]
    done = stages(monkeypatch, fails_at="check", with_each_of=troubles)
    for trouble in tuple(troubles):
        with pytest.raises(type(trouble)):
            run_durably(attempt, HOST)
    run_durably(attempt, HOST)
    assert done == list(attempts.STAGES)


@pytest.mark.timeout(60)
def test_an_attempt_whose_folder_was_removed_is_begun_from_the_start(
    attempt: AttemptFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = stages(monkeypatch, fails_at="check", with_each_of=[MachineryError("the disk is full")])
    with pytest.raises(MachineryError):
        run_durably(attempt, HOST)
    shutil.rmtree(attempt.path)
    done.clear()
    run_durably(new_attempt(REQUEST, attempt.id), HOST)
    assert done == list(attempts.STAGES)
