"""Gives every case the seeding that TileGym's base class does in `setUp`."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _seeded(request: pytest.FixtureRequest) -> None:
    set_up = getattr(request.instance, "setUp", None)
    if set_up is not None:
        set_up()
