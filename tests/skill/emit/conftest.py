"""The emitter program, built into the cache if it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.emit.cli import built_emitter
from tileport_skill.emit.program import Emitter


@pytest.fixture(scope="session")
def program() -> Path:
    return built_emitter()


@pytest.fixture(scope="session")
def emitter(program: Path) -> Emitter:
    return Emitter(program)
