"""The pytest fixtures: one contract a run, one fake GitHub a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bot.fakegithub.contract import Contract
from tests.bot.fakegithub.packages import fetch_packages
from tests.bot.fakegithub.server import FakeGitHub


@pytest.fixture(scope="session")
def contract() -> Iterator[Contract]:
    """GitHub's own descriptions, which judge every request and answer."""
    found = Contract(fetch_packages())
    yield found
    found.close()


@pytest.fixture
def fake(contract: Contract, tmp_path: Path) -> Iterator[FakeGitHub]:
    """Empty; the test fails at its end if anything was not as GitHub describes it."""
    with FakeGitHub(tmp_path / "github", contract) as started:
        yield started
