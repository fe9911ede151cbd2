"""One capture of the checkout in `tests/data/checkout`, shared by all tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tileport_skill.capture.child import Limits
from tileport_skill.capture.records import Capture, Launch, Test
from tileport_skill.capture.session import capture
from tileport_skill.tilegym.operators import find_operator, open_checkout, read_operators

CHECKOUT = Path(__file__).parents[2] / "data" / "checkout"
Run = Callable[..., Capture]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`run("scale", "rows", arch="sm_90")` captures these operators."""
    root = tmp_path_factory.mktemp("checkout") / "repository"  # elsewhere, so that our own pytest settings are not its
    shutil.copytree(CHECKOUT, root)
    checkout = open_checkout(root)
    operators = read_operators(checkout)

    def captured(
        *names: str, arch: str = "sm_90", seconds: float = 300.0, each: float = 60.0, again: bool = False
    ) -> Capture:
        found = [find_operator(operators, name) for name in names]
        folder = tmp_path_factory.mktemp("capture")
        (only,) = capture(
            checkout, found, [arch], folder, limits=Limits(seconds=seconds, test_seconds=each), again=again
        )
        return only

    return captured


@pytest.fixture(scope="session")
def captured(run: Run) -> Capture:
    return run("scale", "rows", "hostile", each=15.0)


@pytest.fixture(scope="session")
def tests(captured: Capture) -> dict[str, Test]:
    """Tests by their name, without file and backend."""
    return {test.id.split("::")[-1]: test for test in captured.tests}


def launches_of(captured: Capture, name: str) -> list[Launch]:
    return [launch for launch in captured.launches if launch.test.endswith(name)]
