"""One side's process without torch or a GPU: obeys the same protocol, strictly. `job.operator` says how."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tileport_skill.correctness import files
from tileport_skill.correctness.records import Observation, TestRun, read_job, to_json

ITEM = "call 0, ragged"
CASE = "tests/ops/test_x.py::test_op[a]"
_REPORT = '<testsuites><testsuite><testcase classname="tests.ops.test_x" name="test_op[a]"/></testsuite></testsuites>'


def main() -> None:
    path, role, folder, calls = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    job = read_job(Path(path))
    assert Path.cwd() == Path(job.tests_root)
    assert os.environ["DISABLE_FALLBACK"] == "1"
    assert ("TILEGYM_DISABLE_AUTOTUNE" in os.environ) == (not job.tuned)
    assert os.environ["PYTHONPATH"].startswith(job.base if role == "reference" else job.tree)
    assert "SECRET" not in os.environ
    (folder / files.TESTS).write_text(_REPORT, encoding="utf-8")
    (folder / files.DOING).write_text("the tests, traced", encoding="utf-8")
    (folder / files.TRACED).write_text(_REPORT, encoding="utf-8")
    if job.operator == f"{role} dies":
        os.kill(os.getpid(), 9)
    if job.operator == f"{role} hangs":
        time.sleep(600)
    if job.operator == f"{role} leaves a daemon":
        _daemon()
    if job.operator == f"{role} prints garbage":
        print("go\nrecor\x00ded recorded \udcff".encode("utf-8", "surrogateescape"), flush=True)
        sys.stdout.buffer.write(b"\xff" * 100_000 + b"\n")
        sys.stdout.flush()
    _leave_facts(folder)
    if role == "reference":
        calls.mkdir(parents=True)
        shutil.copy(Path(job.tests_root) / "000.pt", calls)
        print("recorded", flush=True)
        assert sys.stdin.readline() == "go\n"
        assert not (calls / "planted").exists()
    else:
        assert not list(folder.parent.glob("reference/values/*")), "the port could see what is expected of it"
        _assemble(Path(job.tests_root))
        if job.operator == "port meddles":
            (calls / "planted").touch()
            with (Path(job.tree) / job.library).open("ab") as library:
                library.write(b"!")
    _replay(folder, Path(job.tests_root) / f"{role}.pt")


def _daemon() -> None:
    """Forks twice with a session of its own and no output: nobody's child, as daemons are."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in range(3):
                os.close(descriptor)
            time.sleep(600)
        os._exit(0)
    os.wait()


def _leave_facts(folder: Path) -> None:
    run = TestRun(id=CASE, outcome="passed", message="", dispatched=1)
    (folder / files.FACTS).write_text(to_json(run) + "\n", encoding="utf-8")


def _assemble(root: Path) -> None:
    (root / "kernel.bc").write_bytes(b"\x7fTileIR\x00")
    subprocess.run([os.environ["CUTILE_TILEIRAS_PATH"], str(root / "kernel.bc")], check=True)


def _replay(folder: Path, values: Path) -> None:
    (folder / files.VALUES).mkdir()
    shutil.copy(values, folder / files.VALUES / "0000.pt")
    (folder / files.OBSERVED).write_text(to_json(Observation(item=ITEM, error=None)) + "\n", encoding="utf-8")
    (folder / files.DOING).unlink()
    document = {"patched": [], "fingerprint": {"f": "1"}, "unrecorded": [], "host": {"device": "none"}}
    (folder / files.END).write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    main()
