"""What the end of an agent's container says: of the agent, or of what ran it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_driver import agent_run
from tileport_driver.container import Finished
from tileport_driver.failures import Transient
from tileport_skill.agent.status import StatusBoard
from tileport_skill.errors import MachineryError


def end(folder: Path, state: str | None, code: int | None, **more: object) -> str:
    if state is not None:
        with StatusBoard(folder) as board:
            board.update(state=state, exit_reason=None if state == "running" else "as the test says")
    finished = Finished(exit_code=code, seconds=1, log="its log", **more)  # type: ignore[arg-type]
    return agent_run._end(finished, folder)[0]


@pytest.mark.parametrize(
    ("state", "code", "ended"),
    [
        ("finished", 0, "finished"),
        ("failed", 1, "failed"),
        ("failed", 124, "timed out"),
        ("running", None, "timed out"),
        # Docker's word on how it ended comes after the agent's that it had: a stopped or restarted daemon's codes.
        ("finished", 137, "finished"),
        ("finished", 143, "finished"),
        ("finished", 255, "finished"),
    ],
)
def test_an_end_is_the_agents_where_it_had_come_to_one(
    tmp_path: Path, state: str, code: int | None, ended: str
) -> None:
    assert end(tmp_path, state, code) == ended


@pytest.mark.parametrize("code", [137, 143, 255])
@pytest.mark.parametrize("state", ["failed", "running", None])
def test_one_that_was_ended_from_outside_did_not_fail(tmp_path: Path, state: str | None, code: int) -> None:
    """An agent that is told to stop says that it failed, stopped by signal 15."""
    with pytest.raises(Transient, match="ended from outside"):
        end(tmp_path, state, code)


def test_memory_and_disk_are_the_agents_own(tmp_path: Path) -> None:
    assert end(tmp_path, "running", 137, out_of_memory=True) == "failed"
    assert end(tmp_path, "running", 137, overdrawn="it wrote 9 GiB") == "failed"


@pytest.mark.parametrize("code", [1, 2, 139])
def test_one_that_ends_without_a_word_is_ours(tmp_path: Path, code: int) -> None:
    with pytest.raises(Transient, match="without a word"):
        end(tmp_path, "running", code)


def test_a_model_that_stayed_away_and_checks_that_broke_down_are_ours(tmp_path: Path) -> None:
    with pytest.raises(Transient, match="model could not be reached"):
        end(tmp_path, "failed", 3)
    with pytest.raises(MachineryError, match="checks the roles broke down"):
        end(tmp_path, "failed", 4)
