"""A disk that is too full stops the attempt before it begins, and says what to free."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tileport_driver import attempt as story
from tileport_driver.host import toolchain
from tileport_skill.errors import MachineryError


@pytest.mark.parametrize("require", [story._require_disk, toolchain._require_disk])
def test_a_full_disk_is_named_with_the_setting_that_moves_the_folder(
    require: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**29))
    with pytest.raises(MachineryError, match=r"0\.5 GiB free.*TILEPORT_(STATE|CACHE)"):
        require(tmp_path)  # type: ignore[operator]


@pytest.mark.parametrize("require", [story._require_disk, toolchain._require_disk])
def test_an_empty_disk_is_fine(require: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**40))
    require(tmp_path)  # type: ignore[operator]
