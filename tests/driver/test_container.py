"""What a container may do, with a real engine; and what an engine's misbehaviour is taken for, with one that does."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.driver.fake_docker import CREATED, RUNNING, engine, exited
from tileport_driver import container as containers
from tileport_driver.container import (
    ATTEMPT_LABEL,
    STATE_LABEL,
    ContainerSpec,
    Finished,
    Limits,
    Overdrawn,
    give_to_container_user,
    remove,
    start_or_adopt,
    wait,
)
from tileport_driver.failures import Transient
from tileport_driver.host.engine import docker_engine
from tileport_driver.host.images import ensure_base
from tileport_driver.host.paths import containers_dir
from tileport_driver.host.versions import read_versions

PROBE = r"""
import ctypes, os, resource, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(what, call):
    try:
        said = call()
        print(what, "ALLOWED" if said in (0, None) else "refused")
    except OSError:
        print(what, "refused")
refused("write-root", lambda: open("/etc/x", "w").close())
refused("write-toolchain", lambda: open("/usr/bin/x", "w").close())
refused("mount", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
refused("unshare", lambda: libc.unshare(0x10000000))
refused("setuid", lambda: os.setuid(0))
refused("ptrace-init", lambda: libc.ptrace(16, 1, 0, 0))
refused("network", lambda: socket.create_connection(("1.1.1.1", 53), 1).close())
refused("raw-socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close())
refused("name-lookup", lambda: socket.getaddrinfo("example.com", 80) and None)
status = open("/proc/self/status").read()
print("caps", [line.split()[1] for line in status.splitlines() if line.startswith(("CapEff", "CapBnd"))])
print("no-new-privs", "NoNewPrivs:\t1" in status, "seccomp", "Seccomp:\t2" in status)
print("uid", os.getuid() != 0, "interfaces", sorted(os.listdir("/sys/class/net")))
print("core", resource.getrlimit(resource.RLIMIT_CORE))
open("/tmp/may", "w").close(); open("/work/may", "w").close()
print("setarch", subprocess.run(["setarch", "-R", "true"]).returncode)
su = subprocess.run(["su", "-c", "true"], stdin=subprocess.DEVNULL, capture_output=True)
print("setuid-files", su.returncode != 0)
"""


@pytest.fixture(scope="module")
def real() -> Iterator[tuple[docker.DockerClient, str]]:
    with docker_engine() as client:
        yield client, ensure_base(client, read_versions(containers_dir()), lambda _: None)


@pytest.fixture
def spec(tmp_path: Path, real: tuple[docker.DockerClient, str]) -> Iterator[Callable[..., ContainerSpec]]:
    work = Path(tempfile.mkdtemp(prefix="tileport-test-"))
    give_to_container_user(work)
    name = f"tileport-test-{tmp_path.name[:40]}-{work.name[-8:]}"

    def make(*command: str, **limits: Any) -> ContainerSpec:
        return ContainerSpec(
            name=name,
            image=real[1],
            command=command,
            attempt="none",
            writable={work: "/work"},
            limits=replace(Limits(seconds=60), **limits),
        )

    yield make
    remove(real[0], name)
    shutil.rmtree(work, ignore_errors=True)


def ran(real: tuple[docker.DockerClient, str], spec: ContainerSpec) -> Finished:
    return wait(start_or_adopt(real[0], spec), spec.limits, tick=lambda: None, stop=lambda: False)


@pytest.mark.docker
def test_a_container_may_do_what_a_build_needs_and_no_more(
    real: tuple[docker.DockerClient, str], spec: Callable[..., ContainerSpec]
) -> None:
    log = ran(real, spec("python3", "-c", PROBE)).log
    words = dict(line.split(" ", 1) for line in log.splitlines())
    allowed = [word for word, said in words.items() if said == "ALLOWED"]
    assert allowed == [], log
    assert words["caps"] == "['0000000000000000', '0000000000000000']"
    assert words["no-new-privs"] == "True seccomp True"
    assert words["uid"] == "True interfaces ['lo']"
    assert words["core"] == "(0, 0)"
    assert words["setarch"] == "0"
    assert words["setuid-files"] == "True"


@pytest.mark.docker
def test_docker_was_told_every_limit(real: tuple[docker.DockerClient, str], spec: Callable[..., ContainerSpec]) -> None:
    container = start_or_adopt(real[0], spec("true"))
    container.reload()
    host, labels = container.attrs["HostConfig"], container.labels
    assert (host["ReadonlyRootfs"], host["NetworkMode"], host["Init"], host["AutoRemove"]) == (
        True,
        "none",
        True,
        False,
    )
    assert host["Memory"] == host["MemorySwap"] == 8 * 2**30
    assert (host["PidsLimit"], host["CapDrop"], host["Privileged"]) == (512, ["ALL"], False)
    assert host["NanoCpus"] == min(2, os.cpu_count() or 1) * 10**9
    assert host["Tmpfs"] == {"/tmp": "size=4g,mode=1777,exec"}
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "16m", "max-file": "1"}}
    assert "no-new-privileges" in host["SecurityOpt"]
    assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == {"core": 0, "fsize": 8 * 2**30}
    assert labels[ATTEMPT_LABEL] == "none"
    assert labels[STATE_LABEL]


@pytest.mark.docker
@pytest.mark.parametrize(
    ("program", "limits", "sign"),
    [
        ("x = bytearray(400 << 20)", {"memory": 64 << 20}, "memory"),
        ("open('/tmp/x', 'wb').write(bytes(3 << 20))", {"largest_file": 1 << 20}, "File too large"),
        ("import os\nfor _ in range(99): os.fork() or __import__('time').sleep(9)", {"processes": 20}, "temporarily"),
    ],
    ids=["memory", "a file", "processes"],
)
def test_what_goes_over_a_limit_is_stopped(
    real: tuple[docker.DockerClient, str],
    spec: Callable[..., ContainerSpec],
    program: str,
    limits: dict[str, int],
    sign: str,
) -> None:
    finished = ran(real, spec("python3", "-c", program, **limits))
    assert finished.exit_code != 0
    assert finished.out_of_memory if sign == "memory" else sign in finished.log


@pytest.mark.docker
def test_a_container_that_outlives_its_time_is_killed_without_its_help(
    real: tuple[docker.DockerClient, str], spec: Callable[..., ContainerSpec]
) -> None:
    deaf = "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(99)"
    assert ran(real, spec("python3", "-c", deaf, seconds=1.5)).exit_code is None


@pytest.mark.docker
@pytest.mark.parametrize("command", ["yes 0123456789012345678901234567890123456789", "tr '\\0' x < /dev/zero"])
def test_a_log_without_end_is_cut_also_one_of_a_single_line(
    real: tuple[docker.DockerClient, str], spec: Callable[..., ContainerSpec], command: str
) -> None:
    wanted = spec("sh", "-c", f"{command} | head -c 300000000")
    finished = ran(real, wanted)
    assert finished.exit_code == 0
    assert len(finished.log) < 17 * 2**20
    path = Path(real[0].containers.get(wanted.name).attrs["LogPath"])
    on_disk = sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))
    assert 2**20 < on_disk < 64 * 2**20  # Docker cuts now and then, not at the byte


@pytest.mark.docker
def test_how_long_one_that_is_adopted_has_run_is_asked_of_a_clock_that_does_not_jump(
    real: tuple[docker.DockerClient, str], spec: Callable[..., ContainerSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = spec("sleep", "2")
    start_or_adopt(real[0], wanted)
    monkeypatch.setattr(containers, "_seconds_since", lambda started: 1e9)  # the clock was set while nobody looked
    assert ran(real, wanted).exit_code == 0


@pytest.fixture
def short(tmp_path: Path) -> Iterator[Path]:
    """A folder with a path short enough for a Unix socket."""
    folder = Path(tempfile.mkdtemp(prefix="tp-"))
    yield folder
    shutil.rmtree(folder)


def test_an_engine_that_hangs_is_our_machinery(short: Path) -> None:
    with engine(short, timeout=0.3) as (said, client):
        container = client.containers.get("x")
        said.inspect = 2.0
        with pytest.raises(Transient, match="Docker failed while asking"):
            wait(container, Limits(), tick=lambda: None, stop=lambda: False)


@pytest.mark.parametrize("status", [404, 500])
def test_an_engine_that_forgot_the_container_or_broke_is_our_machinery(short: Path, status: int) -> None:
    with engine(short) as (said, client):
        container = client.containers.get("x")
        said.inspect = status
        with pytest.raises(Transient):
            wait(container, Limits(), tick=lambda: None, stop=lambda: False)


def test_a_container_that_cannot_be_started_goes_so_that_the_next_try_makes_it_anew(short: Path) -> None:
    spec = ContainerSpec(name="tileport-x-agent", image="x", command=("true",), attempt="x")
    with engine(short) as (said, client):
        said.inspect, said.starts = CREATED, 500
        with pytest.raises(Transient, match="Docker failed while starting"):
            start_or_adopt(client, spec)
        assert said.removed == 1


def test_an_engine_that_is_gone_is_our_machinery(short: Path) -> None:
    with engine(short) as (_, client):
        container = client.containers.get("x")
    with pytest.raises(Transient):
        wait(container, Limits(), tick=lambda: None, stop=lambda: False)


def test_running_for_ever_without_a_sign_of_life_is_a_lie_and_not_the_agents_time_out(short: Path) -> None:
    with engine(short) as (said, client):
        limits = Limits(seconds=1e12, silence=0.6)
        with pytest.raises(Transient, match="no sign of life"):
            wait(client.containers.get("x"), limits, tick=lambda: None, stop=lambda: False, beat=lambda: 7)
        assert said.killed == 1


def test_a_container_whose_beat_goes_on_is_left_alone_and_one_without_any_too(short: Path) -> None:
    for beat in (time.monotonic, lambda: None):
        with engine(short) as (said, client):
            ticks: list[int] = []

            def tick(ticks: list[int] = ticks, said: Any = said) -> None:
                ticks.append(1)
                if len(ticks) == 3:
                    said.inspect = exited(0)

            limits = Limits(seconds=1e12, silence=0.2)
            finished = wait(client.containers.get("x"), limits, tick=tick, stop=lambda: False, beat=beat)
            assert finished.exit_code == 0
        shutil.rmtree(short)
        short.mkdir()


def test_a_clock_that_jumps_ends_no_container(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ages = iter([0.0, 1e9, 1e9, 1e9])
    monkeypatch.setattr(containers, "_seconds_since", lambda started: next(ages))
    with engine(short) as (said, client):
        ticks: list[int] = []

        def tick() -> None:
            ticks.append(1)
            if len(ticks) == 2:
                said.inspect = exited(0)

        finished = wait(client.containers.get("x"), Limits(seconds=100), tick=tick, stop=lambda: False)
        assert finished.exit_code == 0


def test_one_that_writes_too_much_is_ended_and_it_is_its_own_doing(short: Path) -> None:
    def beat() -> object:
        raise Overdrawn("it wrote 9.0 GiB; the limit is 8")

    with engine(short) as (said, client):
        assert said.inspect is RUNNING
        limits = Limits(seconds=1e12)
        finished = wait(client.containers.get("x"), limits, tick=lambda: None, stop=lambda: False, beat=beat)
    assert finished.overdrawn == "it wrote 9.0 GiB; the limit is 8"
    assert said.killed == 1


def test_the_seccomp_profile_lets_one_value_more_of_personality_through_and_what_it_does_not_name_fails() -> None:
    profile = json.loads((containers_dir() / "seccomp.json").read_text())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    rules = [rule for rule in profile["syscalls"] if "personality" in rule["names"]]
    assert {rule["action"] for rule in rules} == {"SCMP_ACT_ALLOW"}
    values = [argument["value"] for rule in rules for argument in rule["args"] if argument["op"] == "SCMP_CMP_EQ"]
    dockers = {0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF}
    assert sorted(values) == sorted({*dockers, 0x40000})
    assert len(values) == len(rules), "none goes without a value"
