"""With an empty home, where rustup's proxy knows no toolchain, the emitter is still built with the installed one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_skill.emit import cli
from tileport_skill.emit.rust import MINIMUM, find_rust


def test_the_emitter_is_built_with_the_toolchain_behind_the_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_rust(MINIMUM) is None:
        pytest.skip("no Rust toolchain is installed for this user")
    asked: dict[str, object] = {}
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEPORT_EMITTER", raising=False)
    monkeypatch.setattr(cli, "build_emitter", lambda cache, **more: asked.update(more) or cache)
    cli.built_emitter()
    assert str(asked["cargo"]).endswith("/bin/cargo")
    assert ".cargo/bin" not in str(asked["cargo"])
    assert asked["environment"]["CARGO_HOME"] == str(tmp_path / "cache" / "cargo")  # type: ignore[index]
