"""Without a Docker engine one learns what to install or start, and no attempt is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport_driver.host import engine
from tileport_driver.host.engine import docker_engine
from tileport_skill.errors import MachineryError


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    monkeypatch.setattr(engine, "runtime_dir", lambda: tmp_path)


@pytest.mark.usefixtures("no_engine")
def test_without_dockerd_one_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineryError, match=r"apt-get install docker\.io"), docker_engine():
        pass


@pytest.mark.usefixtures("no_engine")
def test_who_is_not_root_is_told_to_start_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.os, "getuid", lambda: 1000)
    monkeypatch.setattr(engine.shutil, "which", lambda name: "/usr/sbin/dockerd")
    with pytest.raises(MachineryError, match="systemctl start docker"), docker_engine():
        pass


@pytest.mark.docker
def test_an_engine_of_ours_is_stopped_by_its_last_user_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path / "cache"))
    run = Path("/tmp") / f"tp-{tmp_path.parent.name[-4:]}{tmp_path.name[-6:]}"
    run.mkdir(exist_ok=True)
    monkeypatch.setattr(engine, "runtime_dir", lambda: run)
    with docker_engine() as first:
        with docker_engine() as second:
            assert first.info()["ID"] == second.info()["ID"]
        assert first.ping()
        pid = int((run / "docker.pid").read_text())
    assert not Path(f"/proc/{pid}").exists()
