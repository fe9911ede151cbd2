"""A Docker engine: the one that runs, or one of our own for as long as somebody uses it.

Ours needs neither iptables nor a bridge, since containers get no network and builds use the host's. Every process
that uses it holds a shared lock; whoever can take the lock alone on leaving stops it, so none is stopped under
another's feet and none is left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import docker
from docker.errors import DockerException

from tileport_driver.host.paths import cache_dir, runtime_dir
from tileport_skill.errors import MachineryError

_START_SECONDS = 60
_STOP_SECONDS = 30


@contextlib.contextmanager
def docker_engine() -> Iterator[docker.DockerClient]:
    """A client of a running engine; one that we had to start is stopped by its last user.

    Raises `MachineryError` saying what to install or start.
    """
    client = _connect(None)
    if client is not None:
        with contextlib.closing(client):
            yield client
        return
    with _our_engine() as socket:
        ours = _connect(socket)
        if ours is None:
            raise MachineryError(f"The Docker engine at {socket} does not answer; see {_log()}.")
        with contextlib.closing(ours):
            yield ours


def _connect(socket: Path | None) -> docker.DockerClient | None:
    """A client that has answered a ping; `socket` None means the user's own engine, as DOCKER_HOST has it."""
    try:
        client = (
            docker.DockerClient(base_url=f"unix://{socket}", timeout=120) if socket else docker.from_env(timeout=120)
        )
    except DockerException:
        return None
    try:
        client.ping()
    except (DockerException, OSError):
        client.close()
        return None
    return client


@contextlib.contextmanager
def _our_engine() -> Iterator[Path]:
    _require_dockerd()
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    socket = runtime_dir() / "docker.sock"
    # The locks lie beside the socket: processes with caches of their own still share the one engine.
    with (runtime_dir() / "users.lock").open("w") as users:
        with _starting():
            fcntl.flock(users, fcntl.LOCK_SH)
            if _connect(socket) is None:
                _start(folder, socket)
        try:
            yield socket
        finally:
            with _starting():
                _stop_if_last(users.fileno())


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """Starting and stopping are one at a time on a machine."""
    with (runtime_dir() / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start(folder: Path, socket: Path) -> None:
    for name in ("docker.pid", "docker/containerd/containerd.pid"):
        _forget_the_dead(runtime_dir() / name)
    command = [
        "dockerd",
        "--iptables=false",
        "--ip6tables=false",
        "--bridge=none",
        f"--host=unix://{socket}",
        f"--data-root={folder / 'data'}",
        f"--exec-root={runtime_dir() / 'docker'}",
        f"--pidfile={runtime_dir() / 'docker.pid'}",
    ]
    with _log().open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        client = _connect(socket)
        if client is not None:
            client.close()
            return
        if process.poll() is not None:
            break
        time.sleep(0.2)
    process.terminate()
    raise MachineryError(f"dockerd did not start:\n{_last_lines(_log())}\nThe whole log: {_log()}")


def _forget_the_dead(pid_file: Path) -> None:
    """A daemon that was killed leaves its number behind, and dockerd waits for a zombie or a stranger to answer."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        pid = int(pid_file.read_text())
        try:
            name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
            dead = rest.split()[0] == "Z" or name not in ("dockerd", "containerd")
        except OSError:
            dead = True
        if dead:
            pid_file.unlink()


def _stop_if_last(users: int) -> None:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    pid_file = runtime_dir() / "docker.pid"
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < deadline and Path(f"/proc/{pid}").exists() and not _is_zombie(pid):
            time.sleep(0.1)


def _is_zombie(pid: int) -> bool:
    with contextlib.suppress(OSError, ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return not Path(f"/proc/{pid}").exists()


def _require_dockerd() -> None:
    if shutil.which("dockerd") is None:
        raise MachineryError(
            "No Docker engine answers and none is installed. Install one: apt-get install docker.io iptables"
        )
    if os.getuid() != 0:
        raise MachineryError(
            "No Docker engine answers, and only root can start one. Start it (systemctl start docker) and see that "
            "your user may use it (group docker), or run this as root."
        )


def _folder() -> Path:
    return cache_dir() / "docker"


def _log() -> Path:
    return _folder() / "dockerd.log"


def _last_lines(path: Path, count: int = 8) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-count:])
