"""For all tests: texts compared with golden files, which `--update-golden` rewrites, and which tests share a worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "data" / "golden"

Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/data/golden from what the code says now"
    )


@pytest.hookimpl(tryfirst=True)  # before the plugin reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n`, tests of one file share a worker, and so do all with containers: some count what an engine holds.

    These come first, since they take longest.
    """
    for item in items:
        containers = item.get_closest_marker("docker") is not None
        item.add_marker(pytest.mark.xdist_group("docker" if containers else str(item.path)))
    items.sort(key=lambda item: item.get_closest_marker("docker") is None)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden("name.md", text)`: `text` is what `tests/data/golden/name.md` holds, byte for byte."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} does not exist: run pytest with --update-golden, then read it"
        assert text == path.read_text(encoding="utf-8")

    return compare
