"""READ FIRST: one correctness run, from a job to the evidence. This process imports neither torch nor the port.

reference process   runs the base's tests, keeps a dozen calls, waits
port process        runs the same tests with the port, then the kept calls in every variation, and ends
sanitized process   makes the kept calls under compute-sanitizer, where that is installed
reference process   goes on: the same calls and variations, computed when the port is gone
comparing process   holds the two sides' values against each other
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from tileport_skill.correctness import compare, files, orphans, recorder, sanitizer
from tileport_skill.correctness.junit import key_of, read_junit
from tileport_skill.correctness.records import (
    Comparison,
    Evidence,
    Job,
    Role,
    Sanitized,
    Side,
    TestRun,
    read_observation,
    read_test,
    write_json,
)
from tileport_skill.errors import MachineryError
from tileport_skill.tilegym.operators import UNTUNED

_CHILD = "tileport_skill.correctness.child"
SIDE_SECONDS = 1800.0
"""TileGym's bmm asks for most: a test of its reference takes 6 s on an H200's host, nearly all of it `tileiras`, and
there are 80, and calls of new shapes after them."""
_COMPARE_SECONDS = 300.0
_TRACER = "from cupti import cupti"
_INHERITED = (
    *("PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "TMPDIR", "LANG", "PYTHONPATH"),
    "OMP_NUM_THREADS",
)
_TAIL = 1500


def judge(job: Job, out: Path, assembler: Path, seconds: float = SIDE_SECONDS) -> Evidence:
    """Runs both sides on the GPU at hand; leaves `correctness.json`, logs, JUnit reports and bytecode in `out`."""
    started = time.monotonic()
    _check_tracer()
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "job.json", job)
    orphans.adopt()
    # Values live apart from the evidence: some are gigabytes, and the port must not find what is expected of it.
    with tempfile.TemporaryDirectory(prefix="tileport-") as scratch:
        calls, sides = Path(scratch) / "calls", {role: Path(scratch) / role for role in ("reference", "port")}
        reference = _Child(job, "reference", sides["reference"], calls, out, assembler)
        recorded = reference.wait_for_line(b"recorded", seconds)
        # The port gets a copy: whatever it does to it, the reference's own calls stay as they were.
        for_port = Path(scratch) / "calls-for-port"
        shutil.copytree(calls, for_port) if recorded else for_port.mkdir()
        port = _Child(job, "port", sides["port"], for_port, out, assembler)
        port.end(seconds)
        left = orphans.end_orphans(spare=(reference.pid,))
        if left and port.exit == "ended":
            port.exit = f"ended, but left processes behind ({left})"
        sanitized = _sanitized(job, for_port, out, assembler, Path(scratch), port.exit)
        orphans.end_orphans(spare=(reference.pid,))
        if recorded:
            reference.say("go")
        reference.end(seconds)
        digest = hashlib.sha256((Path(job.tree) / job.library).read_bytes()).hexdigest()
        compared = _compare(sides["reference"], sides["port"], calls, Path(scratch))
        evidence = Evidence(
            job=job,
            library_sha256=digest,
            reference=_side(sides["reference"], reference, out),
            port=_side(sides["port"], port, out),
            comparisons=compared,
            host=_host(sides["reference"]),
            sanitized=sanitized,
            seconds=time.monotonic() - started,
        )
    write_json(out / files.EVIDENCE, evidence)
    return evidence


def _check_tracer() -> None:
    """In a process of its own, for this one loads nothing of the kind; before minutes are spent on tests."""
    done = subprocess.run([sys.executable, "-c", _TRACER], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise MachineryError(f"CUPTI cannot be used here: {said}. `pip install cupti-python` for this Python.")


class _Child:
    """One side's process, its standard input and output held by this one."""

    def __init__(self, job: Job, role: Role, folder: Path, calls: Path, out: Path, assembler: Path) -> None:
        folder.mkdir(parents=True)
        self.bytecodes = out / "bytecode" / role
        self._log: IO[bytes] = (out / f"{role}.log").open("wb")
        recording = folder / "tileiras"
        recorder.write_recorder(recording, self.bytecodes, assembler)
        self.exit = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", _CHILD, str(out / "job.json"), role, str(folder), str(calls)],
            cwd=job.tests_root,
            env=_environment(job, role, recording, self.bytecodes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for_line(self, line: bytes, seconds: float) -> bool:
        """Copies output to the log until a line is `line`; False when the process ended or was too slow first."""
        return self._follow(seconds, line)

    def say(self, word: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{word}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            return

    def end(self, seconds: float) -> None:
        """Waits for the process's end, or makes one."""
        if not self._follow(seconds, None):
            self._process.kill()
            self.exit = f"stopped after {seconds:.0f} s"
        code = self._process.wait()
        self.exit = self.exit or ("ended" if code == 0 else f"died with status {code}")
        self._log.close()

    def _follow(self, seconds: float, until: bytes | None) -> bool:
        assert self._process.stdout is not None
        deadline, rest = time.monotonic() + seconds, b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                if not selector.select(left):
                    continue
                content = os.read(self._process.stdout.fileno(), 1 << 16)
                self._log.write(content)
                self._log.flush()
                if not content:
                    return until is None
                *lines, rest = (rest + content).split(b"\n")
                if until is not None and until in lines:
                    return True
        return False


def _environment(job: Job, role: Role, recording: Path, bytecodes: Path) -> dict[str, str]:
    """Little of ours, nothing of a caller's: no dead switch may change what is judged."""
    tree = Path(job.base if role == "reference" else job.tree)
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    paths = [str(tree / job.package), str(Path(__file__).parents[2]), *kept.get("PYTHONPATH", "").split(":")]
    switches = {
        "PYTHONPATH": ":".join(path for path in paths if path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "DISABLE_FALLBACK": "1",
        "CUTILE_RS_AUTOBUILD": "0",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # its pool of workers outlives the process that imported it
        "CUTILE_TILEIRAS_PATH": str(recording),
    }
    if not job.tuned:
        switches[UNTUNED] = "1"
    if role == "reference":
        # cuTile Python may find its assembler in a package, past any PATH; it writes bytecode out itself.
        switches["CUDA_TILE_DUMP_BYTECODE"] = str(bytecodes)
    return kept | switches


def _sanitized(job: Job, calls: Path, out: Path, assembler: Path, scratch: Path, port: str) -> Sanitized:
    """Not of a port whose process did not end: it would not here either."""
    if port != "ended":
        return Sanitized(not_run=f"the port's process {port}")
    roles: tuple[Role, ...] = ("reference", "port")
    environments = {role: _environment(job, role, assembler, scratch / "unwanted") for role in roles}
    return sanitizer.check(out / "job.json", calls, out, environments)


def _compare(reference: Path, port: Path, calls: Path, scratch: Path) -> tuple[Comparison, ...]:
    """In a process of its own, which has torch and neither side's code."""
    made = scratch / "comparisons.jsonl"
    command = [sys.executable, "-m", compare.__name__, str(reference), str(port), str(calls), str(made)]
    environment = dict(os.environ) | {"PYTHONPATH": f"{Path(__file__).parents[2]}:{os.environ.get('PYTHONPATH', '')}"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPARE_SECONDS, env=environment)
    except subprocess.TimeoutExpired as error:
        raise MachineryError(f"comparing both sides' values took more than {_COMPARE_SECONDS:.0f} s") from error
    if done.returncode != 0:
        raise MachineryError(f"comparing both sides' values broke down:\n{done.stderr[-_TAIL:]}")
    return tuple(compare.read_comparison(line) for line in made.read_text(encoding="utf-8").splitlines())


def _side(folder: Path, process: _Child, out: Path) -> Side:
    end = _read_json(folder / files.END)
    ending = process.exit
    if (folder / files.DOING).is_file():
        ending += f" during {(folder / 'doing').read_text(encoding='utf-8')}"
    for name in (files.TESTS, files.TRACED, files.OBSERVED):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / f"{folder.name}-{name}")
    return Side(
        tests=_tests(folder),
        observations=tuple(read_observation(line) for line in _lines(folder / files.OBSERVED)),
        patched=tuple(end.get("patched", ())),
        fingerprint=dict(end.get("fingerprint", {})),
        unrecorded=tuple(end.get("unrecorded", ())),
        exit=ending,
        bytecodes=recorder.gather(process.bytecodes),
    )


def _tests(folder: Path) -> tuple[TestRun, ...]:
    """pytest's own reports say how a case ended, and both rounds count; the plugin's facts say what it reached."""
    facts = {key_of(run.id): run for run in map(read_test, _lines(folder / files.FACTS))}
    merged: dict[str, TestRun] = {}
    for report in (files.TESTS, files.TRACED):
        try:
            found = read_junit(folder / report)
        except ValueError:
            return ()
        for key, (outcome, message) in found.items():
            known = merged.get(key)
            if known is not None and known.outcome != "passed":
                continue
            fact = facts.get(key) or TestRun(id=key, outcome=outcome, message="")
            merged[key] = dataclasses.replace(fact, outcome=outcome, message=message[:_TAIL])
    return tuple(merged.values())


def _host(folder: Path) -> dict[str, str]:
    found = {"driver": _driver(), "python": sys.version.split()[0]}
    there: dict[str, str] = _read_json(folder / files.END).get("host", {})
    return found | there


def _driver() -> str:
    """The driver's version; nothing rests on it, so a machine without `nvidia-smi` is no trouble."""
    if shutil.which("nvidia-smi") is None:
        return "unknown"
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip().split("\n")[0]


def _read_json(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
