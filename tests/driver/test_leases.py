"""A lease is kept while it is renewed, and lost to another or to a database that stays away."""

from __future__ import annotations

import time

from tileport_driver.leases import renewed
from tileport_skill.errors import MachineryError

SECONDS = 0.2


def test_a_lease_that_is_renewed_is_kept() -> None:
    asked: list[float] = []
    with renewed(lambda: not asked.append(time.monotonic()), SECONDS, "x") as lost:
        time.sleep(2 * SECONDS)
        assert not lost.is_set()
    assert asked


def test_a_lease_that_another_has_is_lost_at_once() -> None:
    with renewed(lambda: False, SECONDS, "x") as lost:
        assert lost.wait(10)


def test_a_database_that_is_away_is_asked_again_until_the_lease_cannot_be_ours() -> None:
    asked: list[float] = []

    def away() -> bool:
        asked.append(time.monotonic())
        raise MachineryError("the database is away")

    began = time.monotonic()
    with renewed(away, SECONDS, "x") as lost:
        assert lost.wait(10)
    assert time.monotonic() - began > SECONDS
    assert len(asked) > 1
