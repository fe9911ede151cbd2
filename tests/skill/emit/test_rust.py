"""The Rust toolchain is found behind rustup's proxy, also with an empty home."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tileport_skill.emit.rust import RustToolchain, ensure_rust, find_rust, find_rust_in
from tileport_skill.errors import MachineryError


def toolchain(folder: Path, name: str, version: str) -> None:
    """A stand-in that answers `--version` as rustc does; real ones take gigabytes."""
    binaries = folder / "toolchains" / name / "bin"
    binaries.mkdir(parents=True)
    for program in ("cargo", "rustc"):
        path = binaries / program
        path.write_text(f"#!/bin/sh\necho '{program} {version} (abc 2026-01-01)'\n")
        path.chmod(0o755)


def test_the_newest_toolchain_that_is_new_enough_is_taken(tmp_path: Path) -> None:
    toolchain(tmp_path, "old", "1.70.0")
    toolchain(tmp_path, "new", "1.90.1")
    toolchain(tmp_path, "newer", "1.100.0")
    found = find_rust_in(tmp_path, (1, 89))
    assert found is not None
    assert found.version == (1, 100, 0)


def test_a_nightly_and_a_broken_toolchain_are_passed_over(tmp_path: Path) -> None:
    toolchain(tmp_path, "nightly", "1.99.0-nightly")
    (tmp_path / "toolchains" / "broken" / "bin").mkdir(parents=True)
    assert find_rust_in(tmp_path, (1, 89)) is None


def test_this_machines_toolchain_is_found_with_an_empty_home_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    found = find_rust((1, 0))
    if found is None:
        pytest.skip("no Rust toolchain is installed for this user")
    command = [str(found.cargo), "--version"]
    done = subprocess.run(command, env=found.environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.stdout.startswith("cargo ")


def test_a_user_that_is_a_number_alone_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.setattr("tileport_skill.emit.rust.pwd.getpwuid", nobody)
    find_rust((1, 0))


def test_without_rust_and_without_network_one_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileport_skill.emit.rust.find_rust", lambda minimum: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineryError, match="Install Rust"):
        ensure_rust((1, 89), tmp_path)


def test_cargo_uses_exactly_that_toolchain(tmp_path: Path) -> None:
    found = RustToolchain(sysroot=tmp_path / "x", version=(1, 90, 0))
    environment = found.environment(tmp_path / "home")
    assert environment["PATH"].startswith(str(tmp_path / "x" / "bin"))
    assert environment["CARGO_HOME"] == str(tmp_path / "home")
