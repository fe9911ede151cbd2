"""A folder of measurements gone on with, on the same GPU, on another one, and on none."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tileport_skill.errors import MachineryError, RequestError
from tileport_skill.timing.machine import known_machine
from tileport_skill.timing.raw import read_json, write_json

FIRST = {"gpu": "NVIDIA H200", "uuid": "1-1"}
SECOND = {"gpu": "NVIDIA H200", "uuid": "2-2"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_json(tmp_path / "machine.json", FIRST)
    return tmp_path / "machine.json"


def known(path: Path, now: dict[str, str] | None, *, measured: bool) -> object:
    probe = partial(write_json, path, now) if now is not None else (lambda: None)
    return known_machine(path, probe, path.with_name("probe.log"), measured=measured)


def test_what_was_tuned_on_one_gpu_is_measured_on_another_of_its_kind(path: Path) -> None:
    """Whose processes and clocks are asked for then is the other one's."""
    assert known(path, SECOND, measured=False) == SECOND
    assert read_json(path) == SECOND


def test_samples_of_two_gpus_are_not_mixed_and_the_first_is_kept(path: Path) -> None:
    with pytest.raises(RequestError, match="holds samples of another NVIDIA H200"):
        known(path, SECOND, measured=True)
    assert read_json(path) == FIRST
    assert known(path, FIRST, measured=True) == FIRST


def test_another_kind_of_gpu_needs_a_folder_of_its_own(path: Path) -> None:
    with pytest.raises(RequestError, match="was begun on NVIDIA H200, and this is NVIDIA B200"):
        known(path, {"gpu": "NVIDIA B200", "uuid": "3-3"}, measured=False)
    assert read_json(path) == FIRST


def test_a_gpu_that_gives_no_answer_loses_nothing(path: Path) -> None:
    with pytest.raises(MachineryError, match=r"probe.log says why"):
        known(path, None, measured=False)
    assert read_json(path) == FIRST
