"""The status: fresh while the agent lives, whole whenever it is read, and not believed when it is no status."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tileport_skill.agent.status import STATUS_FILE, StatusBoard, read_status


def test_the_status_beats_by_itself_and_is_always_whole(tmp_path: Path) -> None:
    beats = threading.Semaphore(0)
    with StatusBoard(tmp_path, interval=0.001, on_beat=beats.release) as board:
        seen = set()
        for turn in range(300):
            board.update(turn=turn, state="running")
            status = read_status(tmp_path)
            assert status is not None
            seen.add(status.beat)
        for _ in range(20):
            beats.acquire()
        board.update(state="finished", exit_reason="the model ended its turn")
    last = read_status(tmp_path)
    assert last is not None
    assert len(seen) >= 300
    assert last.beat >= 320
    assert (last.state, last.exit_reason) == ("finished", "the model ended its turn")
    assert [path.name for path in tmp_path.iterdir()] == [STATUS_FILE]


def test_an_exception_ends_the_status_as_failed(tmp_path: Path) -> None:
    with pytest.raises(KeyError), StatusBoard(tmp_path):
        raise KeyError("lost")
    status = read_status(tmp_path)
    assert status is not None
    assert (status.state, status.exit_reason) == ("failed", "KeyError: 'lost'")


def test_a_folder_that_cannot_be_written_does_not_end_the_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with StatusBoard(folder) as board:
        (folder / STATUS_FILE).unlink()
        (folder / STATUS_FILE).mkdir()
        board.update(turn=1)
        assert board.status.turn == 1


@pytest.mark.parametrize("content", ["", "{", "null", '{"state": "well"}', "x" * 100_000])
def test_what_is_no_status_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / STATUS_FILE).write_text(content)
    assert read_status(tmp_path) is None


def test_links_pipes_and_folders_are_none(tmp_path: Path) -> None:
    with StatusBoard(tmp_path / "real"):
        pass
    assert read_status(tmp_path / "real") is not None
    assert read_status(tmp_path / "nowhere") is None
    path = tmp_path / STATUS_FILE
    path.symlink_to(tmp_path / "real" / STATUS_FILE)
    assert read_status(tmp_path) is None
    path.unlink()
    os.mkfifo(path)
    assert read_status(tmp_path) is None
    path.unlink()
    path.mkdir()
    assert read_status(tmp_path) is None
