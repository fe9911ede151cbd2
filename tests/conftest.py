"""For all tests: texts compared with golden files, which `--update-golden` rewrites, and which tests share a worker."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

GOLDEN = Path(__file__).parent / "data" / "golden"

Golden = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite tests/data/golden from what the code says now"
    )


class _ByFile(LoadScopeScheduling):  # type: ignore[misc]  # the plugin has no types
    """With `-n`, tests of one file share a worker, and so do all with containers: some count what an engine holds."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return "containers" if _has_containers(self.config.rootpath / path) else path


@cache
def _has_containers(path: Path) -> bool:
    return "mark.docker" in path.read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)  # a run on its own may be without the plugin
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """The plugin's own groups (3.8.0) are lost in pytest 9.2, which no longer reads the name they are written into."""
    return _ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Containers first, as they take longest, and work for the others is left to the end."""
    items.sort(key=lambda item: not _has_containers(item.path))


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
