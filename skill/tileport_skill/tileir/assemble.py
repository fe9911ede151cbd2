"""NVIDIA's two programs for Tile IR, `tileirdisasm` and `tileiras`, as two functions.

What a program says about its input is data (`Refused`); a program that is missing or cannot start is a
`MachineryError`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.errors import MachineryError

TOOLCHAIN_VARIABLE = "TILEPORT_CUDA_HOME"
ARCHITECTURE = re.compile(r"sm_\d{2,3}")

DISASSEMBLE_SECONDS = 20.0
ASSEMBLE_SECONDS = 300.0
ADDRESS_SPACE = 16 << 30
"""Bytes of address space either program may take: absurd input must not take the machine with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cubin:
    """A kernel as `tileiras` made it: the whole file, host part included."""

    image: bytes
    arch: str
    remarks: str
    """What `tileiras --remarks=all` said, as YAML; empty when it said nothing."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.image).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The program ran and did not accept its input: a verdict on the input, not on us."""

    tool: str
    reason: str
    timed_out: bool = False
    """It did not end in time: then nothing is known of the input."""


def disassemble(bytecode: bytes) -> str | Refused:
    """The text of `bytecode` as `tileirdisasm` prints it."""
    with tempfile.TemporaryDirectory(prefix="tileport-") as folder:
        source = Path(folder) / "kernel.tileirbc"
        source.write_bytes(bytecode)
        done = _run("tileirdisasm", [tool("tileirdisasm"), str(source)], DISASSEMBLE_SECONDS)
        if isinstance(done, Refused):
            return done
        return done.decode("utf-8", errors="replace")


@functools.lru_cache(maxsize=256)
def assemble(
    bytecode: bytes, arch: str, seconds: float = ASSEMBLE_SECONDS, processor_seconds: int | None = None
) -> Cubin | Refused:
    """The cubin of `bytecode` for `arch` (`sm_90`), made with address randomisation off, within `seconds`.

    With `processor_seconds` it may take no more on a processor either, however busy the machine is.
    On sm_100 the output of `tileiras` depends on where memory happens to lie; without randomisation one input
    gives one file, so the result is remembered.
    """
    if not ARCHITECTURE.fullmatch(arch):
        return Refused(tool="tileiras", reason=f"{arch!r} is not an architecture; expected one like sm_90")
    with tempfile.TemporaryDirectory(prefix="tileport-") as folder:
        source, target, remarks = (Path(folder) / name for name in ("kernel.tileirbc", "kernel.cubin", "remarks"))
        source.write_bytes(bytecode)
        options = ["--remarks=all", "--remark-format=yaml", f"--remarks-output-file={remarks}"]
        command = [tool("tileiras"), "--gpu-name", arch, *options, str(source), "-o", str(target)]
        done = _run("tileiras", [*_without_randomisation(), *command], seconds, processor_seconds)
        if isinstance(done, Refused):
            return done
        if not target.is_file():
            return Refused(tool="tileiras", reason="it ended without an error and without a cubin")
        said = remarks.read_text(encoding="utf-8", errors="replace") if remarks.is_file() else ""
        return Cubin(image=target.read_bytes(), arch=arch, remarks=said)


@functools.cache
def toolchain_version() -> str:
    """The version `tileiras` gives itself, `13.4.92`; part of every proof that rests on a cubin."""
    done = _run("tileiras", [tool("tileiras"), "--version"], DISASSEMBLE_SECONDS)
    if isinstance(done, Refused):
        raise MachineryError(f"`tileiras --version` failed: {done.reason}")
    found = re.search(rb"V(\d+(?:\.\d+)+)", done) or re.search(rb"(\d+(?:\.\d+)+)", done)
    return found[1].decode() if found else "unknown"


def tool(name: str) -> str:
    """Path of one of NVIDIA's programs: from `TILEPORT_CUDA_HOME` if set, else from the installed wheels."""
    mounted = os.environ.get(TOOLCHAIN_VARIABLE)
    if mounted:
        homes = [Path(mounted)]
    else:
        spec = importlib.util.find_spec("nvidia")
        homes = [Path(place) / "cu13" for place in (spec.submodule_search_locations or ())] if spec else []
    for home in homes:
        path = home / "bin" / name
        if os.access(path, os.X_OK):
            return str(path)
    where = f"{TOOLCHAIN_VARIABLE}={mounted}" if mounted else "the wheels of this Python"
    raise MachineryError(
        f"{name} was not found in {where}. Install nvidia-cuda-tileiras 13.4.59 or newer, or set "
        f"{TOOLCHAIN_VARIABLE} to a CUDA folder whose bin/ holds it."
    )


@functools.cache
def _without_randomisation() -> tuple[str, ...]:
    """The prefix that runs a program with fixed addresses, checked once to work here."""
    setarch = shutil.which("setarch")
    if setarch is None:
        raise MachineryError("setarch was not found; install util-linux. tileiras must run at fixed addresses.")
    probe = subprocess.run([setarch, "-R", "true"], capture_output=True, text=True, timeout=10, check=False)
    if probe.returncode != 0:
        raise MachineryError(
            f"Address randomisation cannot be switched off here ({probe.stderr.strip()}). In a container the "
            "seccomp profile must allow the system call `personality` with the value 0x0040000 "
            "(ADDR_NO_RANDOMIZE); Docker's default profile does not."
        )
    return (setarch, "-R")


def _run(name: str, command: list[str], seconds: float, processor_seconds: int | None = None) -> bytes | Refused:
    prlimit = shutil.which("prlimit")
    if prlimit is None:
        raise MachineryError("prlimit was not found; install util-linux. Compilers run under a memory limit.")
    limit = [] if processor_seconds is None else [f"--cpu={processor_seconds}"]
    try:
        process = subprocess.Popen(
            [prlimit, f"--as={ADDRESS_SPACE}", "--core=0", *limit, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that a time-out ends the compiler's own children too
        )
    except OSError as error:
        raise MachineryError(f"{name} could not be started: {error}") from error
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Refused(tool=name, reason=f"it did not end within {seconds:.0f} s", timed_out=True)
    if process.returncode == 0:
        return out
    if processor_seconds is not None and process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        reason = f"it did not end within {processor_seconds} s of a processor's time"
        return Refused(tool=name, reason=reason, timed_out=True)
    said = err.decode("utf-8", errors="replace").strip() or out.decode("utf-8", errors="replace").strip()
    ended = f"signal {-process.returncode}" if process.returncode < 0 else f"exit {process.returncode}"
    return Refused(tool=name, reason=f"{said[-2000:] or 'no message'} ({ended})")
