"""Killed without warning: the Docker daemon under a container, and a driver at every boundary between two stages."""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from tests.driver.test_workers import STAGES, check_each_ended_once, requests, start, traced, wait_for
from tileport_driver import jobs
from tileport_driver.container import ContainerSpec, Limits, remove, start_or_adopt, wait
from tileport_driver.failures import Transient
from tileport_driver.host import engine
from tileport_driver.host.engine import docker_engine

SLEEPER = '#include <unistd.h>\nint main(void) { write(1, "began\\n", 6); for (;;) sleep(1); }\n'


@pytest.fixture
def own_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A daemon that no other test uses: the folder of its socket and process number."""
    run = Path(tempfile.mkdtemp(prefix="tpk-"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{run}/nothing.sock")
    monkeypatch.setenv("TILEPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(engine, "runtime_dir", lambda: run)
    yield run
    for place in reversed(
        _mounted_below(run, tmp_path)
    ):  # what a killed daemon leaves, its successor does not take down
        subprocess.run(["umount", "-l", place], check=False)
    shutil.rmtree(run, ignore_errors=True)


def _mounted_below(*folders: Path) -> list[str]:
    places = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    return [place for place in places if any(place.startswith(f"{folder}/") for folder in folders)]


def sleeper(client: docker.DockerClient, folder: Path) -> str:
    """An image of one program, linked whole, as no registry is asked."""
    source, program = folder / "sleeper.c", folder / "sleeper"
    source.write_text(SLEEPER)
    subprocess.run(["gcc", "-static", "-O1", "-o", program, source], check=True)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tape:
        tape.add(program, arcname="sleeper")
        tape.addfile(_folder("tmp"))
    client.api.import_image_from_data(data.getvalue(), repository="tileport-test-sleeper", tag="x")
    return "tileport-test-sleeper:x"


def _folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o1777
    return info


@pytest.mark.docker
def test_a_daemon_killed_under_a_container_is_our_machinery_and_the_container_is_found_again(
    own_engine: Path, tmp_path: Path
) -> None:
    name = "tileport-test-killed"
    with docker_engine() as client:
        spec = ContainerSpec(name=name, image=sleeper(client, tmp_path), command=("/sleeper",), attempt="none")
        container = start_or_adopt(client, spec)
        daemon = int((own_engine / "docker.pid").read_text())

        def kill_the_daemon() -> None:
            os.kill(daemon, signal.SIGKILL)

        with pytest.raises(Transient, match="Docker failed while asking"):
            wait(container, spec.limits, tick=kill_the_daemon, stop=lambda: False)
    wait_for(lambda: not Path(f"/proc/{daemon}").exists() or _zombie(daemon))
    with docker_engine() as client:
        again = start_or_adopt(client, spec)
        assert again.id == container.id
        assert len(client.containers.list(all=True)) == 1
        finished = wait(again, Limits(seconds=0.5), tick=lambda: None, stop=lambda: False)
        assert "began" in finished.log
        remove(client, name)
        assert client.containers.list(all=True) == []


def _zombie(pid: int) -> bool:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return not Path(f"/proc/{pid}").exists()
    return not Path(f"/proc/{pid}").exists()


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path))
    monkeypatch.delenv("TILEPORT_DATABASE_URL", raising=False)
    return tmp_path


@pytest.mark.soak
@pytest.mark.parametrize("lines", range(1, 2 * STAGES + 1))
def test_a_driver_killed_at_any_boundary_is_gone_on_with_and_no_finished_stage_is_done_again(
    state: Path, lines: int
) -> None:
    jobs.submit(requests(1)[0])
    first = start(1.5, 0.2)
    wait_for(lambda: len(traced()) >= lines)
    first.kill()
    first.wait()
    assert start(1.5, 0.05).wait(120) == 0
    check_each_ended_once(1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_a_driver_killed_at_a_random_moment_is_gone_on_with(state: Path, seed: int) -> None:
    jobs.submit(requests(1)[0])
    first = start(1.5, 0.3)
    wait_for(lambda: traced())
    time.sleep(random.Random(seed).uniform(0, 2))
    first.kill()
    first.wait()
    assert start(1.5, 0.05).wait(120) == 0
    check_each_ended_once(1)
