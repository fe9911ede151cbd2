"""A patch that exhausts its judge: once may be this machine's doing, twice is the patch's."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest

from tileport_driver import acceptance, disk_use
from tileport_driver.acceptance import Judge
from tileport_driver.container import Limits
from tileport_driver.failures import Transient
from tileport_driver.host.engine import docker_engine
from tileport_driver.records import AgentCheckout, Gate, Patch, PortRequest
from tileport_driver.store import AttemptFolder, new_attempt

GREEDY = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
    FILE *stage = fopen("/evidence/stage", "w");
    fputs(STAGE, stage);
    fclose(stage);
    FILE *fat = fopen("/evidence/fat", "w");
    for (;;) {
        if (EATS == 1) memset(malloc(1 << 20), 1, 1 << 20);
        if (EATS == 2) for (int n = 0; n < 1 << 20; n++) putc('x', fat);
        if (EATS != 1) usleep(50000);
    }
}
"""
REQUEST = PortRequest(repository="/r", operator="scale", base_commit="0" * 40, reference_hash="a" * 64, engine="none")
RECORD = AgentCheckout(
    operator="scale", base_commit="0" * 40, base_tree="b" * 40, agent_tree="c" * 40, hidden=(), allowed=()
)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[docker.DockerClient]:
    monkeypatch.setenv("TILEPORT_STATE", str(tmp_path / "state"))
    with docker_engine() as client:
        yield client


@pytest.fixture
def attempt(client: docker.DockerClient) -> AttemptFolder:
    attempt = new_attempt(REQUEST)
    attempt.write("checkout", RECORD)
    for folder in ("base", "judge"):
        (attempt.work / folder).mkdir(parents=True)
    return attempt


def patched(attempt: AttemptFolder, tree: str) -> None:
    attempt.write(
        "patch", Patch(base_tree="b" * 40, result_tree=tree, changes=(), bytes=1, sha256="d" * 64, ignored=())
    )


def inside(client: docker.DockerClient, attempt: AttemptFolder, folder: Path, stage: str, eats: int) -> list[Gate]:
    """The gates of a judging container whose program takes all the time there is, all the memory (1) or disk (2)."""
    source, program = folder / "greedy.c", folder / "greedy"
    source.write_text(GREEDY.replace("STAGE", f'"{stage}"').replace("EATS", str(eats)))
    subprocess.run(["gcc", "-static", "-O0", "-o", program, source], check=True)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tape:
        tape.add(program, arcname="greedy")
        for name in ("tmp", "work", "base", "evidence"):
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.DIRTYPE, 0o1777
            tape.addfile(member)
    name, changes = f"tileport-test-greedy-{folder.parent.name[-1]}", ['ENTRYPOINT ["/greedy"]']
    client.api.import_image_from_data(data.getvalue(), repository=name, tag="x", changes=changes)
    toolchain: Any = SimpleNamespace(mounts={})
    seat = Judge(
        client=client,
        image=f"{name}:x",
        toolchain=toolchain,
        archs=("sm_90",),
        tick=lambda _: None,
        stop=lambda: False,
        gpu=lambda *_: [],
    )
    try:
        return acceptance._inside(seat, attempt, RECORD, attempt.work / "judge")
    finally:
        client.images.remove(f"{name}:x", force=True)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("stage", "eats", "failed", "short_of"),
    [
        ("comparing Tile IR", 0, ["build", "tile-ir"], "its 0 minutes while comparing Tile IR, twice"),
        ("building the kernels crate", 1, ["build"], "its 0 GiB of memory while building the kernels crate, twice"),
        ("building the kernels crate", 2, ["build"], "the disk it may (it wrote 0.0 GiB; the limit is 0) while"),
    ],
)
def test_a_judge_that_one_patch_exhausts_twice_fails_the_gate_that_ran(
    client: docker.DockerClient,
    attempt: AttemptFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    eats: int,
    failed: list[str],
    short_of: str,
) -> None:
    monkeypatch.setattr(acceptance, "_LIMITS", Limits(memory=64 << 20, seconds=60.0 if eats else 2.0))
    monkeypatch.setattr(disk_use, "MOST", 4 << 20)
    monkeypatch.setattr(disk_use, "EVERY_SECONDS", 0.2)
    for tree in ("1" * 40, "2" * 40):  # another patch has a first time of its own
        patched(attempt, tree)
        with pytest.raises(Transient, match="used up"):
            inside(client, attempt, tmp_path, stage, eats)
    gates = inside(client, attempt, tmp_path, stage, eats)
    assert [gate.gate for gate in gates] == failed
    assert gates[-1].verdict == "failed"
    assert short_of in gates[-1].reasons[0]
