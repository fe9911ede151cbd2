"""Attempts whose every stage is the real one, with real containers; only the two programs inside are stand-ins.

One copies a port that lies ready into the tree, as the drafting program writes one; the other leaves findings, as the
judge does. So an attempt takes seconds, and who begins, kills, adopts and ends it can be tested by the dozen.

Run as a process: `small_attempts ROLE PAYLOAD DIE`. ROLE is `worker`, `gpu`, or `REPO:OP`, repository and operator. DIE
is empty, or `WHOM begin|during|end STAGE`: there, once, the process kills itself or, for `daemon`, the daemon.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import docker
from pydantic import TypeAdapter

from tests.driver.conftest import FILES, commit_all, write_files
from tests.driver.gpu import small_gpu
from tileport_driver import attempt as attempts
from tileport_driver import durable, judge_patch, service, worker
from tileport_driver.git import run_git
from tileport_driver.host import engine
from tileport_driver.host.engine import docker_engine
from tileport_driver.host.paths import state_dir
from tileport_driver.host.toolchain import Toolchain
from tileport_driver.progress import Progress
from tileport_driver.requests import Order, make_request
from tileport_driver.store import AttemptFolder
from tileport_driver.sweep import sweep
from tileport_skill.capture.records import Hints
from tileport_skill.draft.report import DraftReport, write_report
from tileport_skill.judge.findings import Build, Findings, TileIr
from tileport_skill.tileir.verdicts import Equal, Proof
from tileport_skill.verify import Row

PROGRAMS = ("sh", "cp", "sleep")
DRAFT = """#!/bin/sh
echo began >> /draft/began
sleep 0.6
cp -r "/toolchain/$4/port/." /work/ && cp "/toolchain/$4/draft.json" /draft/
"""
JUDGE = """#!/bin/sh
sleep 0.6
test -f "/work/src/tilegym/ops/cutile_rs/$6.py" && echo built > /evidence/build.log &&
    cp "/toolchain/$6/findings.json" /evidence/
"""
IMAGE = f"tileport-test-small:{sha256((DRAFT + JUDGE).encode()).hexdigest()[:12]}"
LEASE = 3.0
DELAYS = (0.2,) * 8
RUNTIME = "TILEPORT_TEST_RUNTIME"
"""The folder of a daemon of the test's own."""
ROOT = "src/tilegym/ops"
CONTAINERS = {"run": "draft", "check": "acceptance"}


def names(count: int) -> list[str]:
    return [f"op{number:02}" for number in range(count)]


def repository(root: Path, count: int) -> Path:
    """A target with so many operators, one commit."""
    reference = FILES[f"{ROOT}/cutile/scale.py"]
    test = FILES["tests/ops/test_scale.py"]
    files = dict(FILES)
    for name in names(count):
        files[f"{ROOT}/cutile/{name}.py"] = reference.replace("scale", name)
        files[f"tests/ops/test_{name}.py"] = test.replace("scale", name)
    write_files(root, files)
    commit_all(root)
    return root


def payload(root: Path, count: int) -> Path:
    """What the programs inside leave, for each operator."""
    (root / "python").mkdir(parents=True)  # a place to mount on
    for name in names(count):
        port = {
            f"{ROOT}/cutile_rs/{name}.py": f"def {name}(x):\n    return x\n",
            f"{ROOT}/cutile_rs/{name}_kernel/kernel.rs": f"// the kernel of {name}\n",
            f"{ROOT}/cutile_rs/{name}_kernel/ffi.rs": f"// the launcher of {name}\n",
        }
        write_files(root / name / "port", port)
        report = DraftReport(operator=name, files=tuple(port), kernels=(), refused=(), host=None, seconds=0.6)
        write_report(report, root / name / "draft.json")
        build = Build(ok=True, seconds=0.6, command="cargo build", excerpt="", library_sha256=small_gpu.BUILT)
        findings = Findings(build=build, tile_ir=TileIr(rows=(equal_row(name),), seconds=0.0), versions={})
        (root / name / "findings.json").write_bytes(TypeAdapter(Findings).dump_json(findings))
    return root


def equal_row(name: str) -> Row:
    return Row(
        arch="sm_90",
        kernel=f"{name}_kernel",
        specialisation="s",
        dtypes="float32",
        constants="",
        hints=Hints(),
        entry=f"{name}_kernel",
        backward_only=False,
        launches=1,
        test="t",
        verdict=Equal(proof=Proof(rung="same cubin", text="as the test says")),
        same_assumptions=True,
        lost_hints=(),
    )


def image(client: docker.DockerClient) -> str:
    """A shell and what the two programs call, from this machine, as no registry is asked."""
    found = client.images.list(IMAGE)
    if found:
        return IMAGE
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", dereference=True) as tape:
        for path in _files():
            tape.add(path, arcname=path.lstrip("/"))
        for program, text in (("usr/bin/python3", DRAFT), ("usr/bin/judge", JUDGE)):
            member = tarfile.TarInfo(program)
            member.size, member.mode = len(text), 0o755
            tape.addfile(member, io.BytesIO(text.encode()))
        for folder in ("tmp", "work", "draft", "evidence", "base", "toolchain"):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o1777
            tape.addfile(member)
    name, tag = IMAGE.split(":")
    changes = ['ENTRYPOINT ["/usr/bin/judge"]', "ENV PATH=/usr/bin:/bin"]
    client.api.import_image_from_data(data.getvalue(), repository=name, tag=tag, changes=changes)
    return IMAGE


def _files() -> list[str]:
    found: dict[str, None] = {}
    for name in PROGRAMS:
        listed = subprocess.run(["ldd", f"/bin/{name}"], capture_output=True, text=True, check=True).stdout
        words = [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]
        found |= dict.fromkeys([f"/bin/{name}", *words])
    return list(found)


@contextmanager
def open_host(progress: Progress, stop: Any) -> Iterator[attempts.Host]:
    """As the real one, with the small image and the payload in the toolchain's place."""
    with docker_engine() as client:
        sweep(client)
        small, empty = image(client), state_dir() / "empty"
        empty.mkdir(exist_ok=True)
        toolchain = Toolchain(crates=Path(sys.argv[2]), python=empty, bytecode=empty, emitter=empty)
        yield attempts.Host(
            client=client,
            base_image=small,
            agent_image=small,
            acceptance_image=small,
            toolchain=toolchain,
            progress=progress,
            stop=stop,
        )


def traced(attempt: AttemptFolder, name: str, host: attempts.Host) -> None:
    """One stage, with a line at its beginning and its end, where the test may want somebody to die."""
    _line(attempt, f"begin {name}")
    threading.Thread(target=_die_during, args=(attempt, name), daemon=True).start()
    attempts.timed(attempt, name, host)
    _line(attempt, f"end {name}")


def _line(attempt: AttemptFolder, what: str) -> None:
    with (state_dir() / "trace").open("a") as file:
        file.write(f"{os.getpid()} {attempt.id} {what}\n")
    if _to_die_at(what):
        _die()


def _die_during(attempt: AttemptFolder, stage: str) -> None:
    """Once the stage's container runs."""
    name = f"tileport-{attempt.id}-{CONTAINERS.get(stage)}"
    if _to_die_at(f"during {stage}"):
        with docker_engine() as client:
            while not client.containers.list(filters={"name": name, "status": "running"}):
                time.sleep(0.05)
            _die()


def _to_die_at(what: str) -> bool:
    return sys.argv[3].partition(" ")[2] == what and not (state_dir() / "died").exists()


def _die() -> None:
    (state_dir() / "died").touch()
    daemon = sys.argv[3].startswith("daemon")
    os.kill(int((engine.runtime_dir() / "docker.pid").read_text()) if daemon else os.getpid(), signal.SIGKILL)


def branches(repo: Path) -> list[str]:
    return run_git("-C", str(repo), "for-each-ref", "--format=%(refname:short)", "refs/heads/port").decode().split()


def main() -> None:
    attempts.open_host = open_host  # type: ignore[assignment]
    durable.timed = traced
    if folder := os.environ.get(RUNTIME):
        engine.runtime_dir = lambda: Path(folder)
    if sys.argv[1] == "gpu":
        judge_patch.open_host = open_host  # type: ignore[assignment]
        small_gpu.stand_in()
        print(worker.work("gpu", lambda: False, drain=True, lease_seconds=LEASE))
        return
    if sys.argv[1] == "worker":
        worker.go_on = partial(service.go_on, delays=DELAYS)
        print(worker.work("agents", lambda: False, drain=True, lease_seconds=LEASE))
        return
    repo, _, operator = sys.argv[1].rpartition(":")
    order = Order(operator=operator, repository=Path(repo), engine="none")
    ended = service.go_on(service.begin(make_request(order)), Progress(), lambda: False, DELAYS)
    print(ended.outcome.kind)


if __name__ == "__main__":
    main()
