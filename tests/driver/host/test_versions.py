"""What is said once in `versions.toml` is what is built with, wherever a build has a file of its own to say it in."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tileport_driver.host.paths import containers_dir
from tileport_driver.host.versions import read_versions
from tileport_skill.emit.rust import MINIMUM

ROOT = Path(__file__).parents[3]
VERSIONS = read_versions(containers_dir())


@pytest.mark.parametrize("manifest", ["containers/seed/Cargo.toml", "skill/emitter/Cargo.toml"])
def test_the_crates_are_those_of_the_one_version(manifest: str) -> None:
    dependencies = tomllib.loads((ROOT / manifest).read_text(encoding="utf-8"))["dependencies"]
    pinned = {name: each for name, each in dependencies.items() if name.startswith("cutile")}
    assert len(pinned) >= 3
    assert set(pinned.values()) == {f"={VERSIONS.cutile}"}


def test_rust_is_as_old_as_it_may_be() -> None:
    assert tuple(int(part) for part in VERSIONS.rust.split(".")) == MINIMUM
