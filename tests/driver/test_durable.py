"""What DBOS may record of a stage, and what it never may."""

from __future__ import annotations

import pytest

from tileport_driver.durable import Undone, _stage
from tileport_driver.failures import Transient


def test_a_stage_of_an_attempt_nobody_here_waits_for_is_left_undone_and_not_recorded_as_an_error() -> None:
    with pytest.raises(Undone) as left:
        _stage("op01-20261130-222527-bf0186", "prepare")
    assert isinstance(left.value.cause, Transient)
    assert not isinstance(left.value, Exception), "DBOS records those"
