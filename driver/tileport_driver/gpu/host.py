"""What this machine can judge: its GPU, driver, compiler and packages, each with how to get what is missing."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tileport_skill.errors import MachineryError
from tileport_skill.tileir.assemble import tool

_MINIMUM_DRIVER = 580
_FREE_GIB = 24
_QUERY = "name,compute_cap,driver_version,memory.free,clocks.applications.graphics,clocks.max.graphics"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing the GPU gates need."""

    what: str
    found: str
    """What is there; empty when it is missing."""
    ok: bool
    how: str
    """How to get it, where it is missing or too old."""
    __pydantic_config__: ClassVar = {"extra": "forbid"}


def gpu_arch() -> str | None:
    """`sm_90` for the first GPU of this machine; None where there is none."""
    found = _gpu()
    return None if found is None else f"sm_{found[1].replace('.', '')}"


def needs() -> tuple[Need, ...]:
    """Everything the gates that need a GPU ask of this machine, in the order in which one would mend it."""
    gpu = _gpu()
    return (*_device(gpu), _assembler(), *map(_package, _PACKAGES))


_PACKAGES = (
    ("torch", "torch", "pip install torch"),
    ("pytest", "pytest", "pip install pytest"),
    ("cffi", "cffi", "pip install cffi"),
    ("cuda.tile", "cuda-tile", "pip install 'cuda-tile[tileiras]'"),
    ("cupti", "cupti-python", "pip install cupti-python"),
)


def _gpu() -> list[str] | None:
    if shutil.which("nvidia-smi") is None:
        return None
    command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    line = done.stdout.strip().splitlines()[:1]
    return [field.strip() for field in line[0].split(",")] if done.returncode == 0 and line else None


def _device(gpu: list[str] | None) -> list[Need]:
    if gpu is None:
        how = "Use a machine with an NVIDIA GPU of compute capability 8.0 or newer, and its driver installed."
        return [Need(what="GPU", found="", ok=False, how=how)]
    name, capability, driver, free, clock, most = gpu
    locked = clock == most
    return [
        Need(what="GPU", found=f"{name}, sm_{capability.replace('.', '')}", ok=float(capability) >= 8.0, how=""),
        Need(
            what="driver",
            found=driver,
            ok=int(re.split(r"\D", driver)[0] or 0) >= _MINIMUM_DRIVER,
            how=f"Install driver {_MINIMUM_DRIVER} or newer.",
        ),
        Need(
            what="free memory",
            found=f"{int(free) / 1024:.0f} GiB",
            ok=int(free) / 1024 >= _FREE_GIB,
            how=f"{_FREE_GIB} GiB are wanted for the large calls; smaller ones are made without.",
        ),
        Need(
            what="clocks",
            found=f"{clock} of at most {most} MHz",
            ok=True,
            how="" if locked else "Not locked: clocks are recorded, and rows whose clocks moved are inconclusive.",
        ),
    ]


def _assembler() -> Need:
    how = "pip install 'cuda-tile[tileiras]', or set TILEPORT_CUDA_HOME to a CUDA folder whose bin/ holds it."
    try:
        path = tool("tileiras")
    except MachineryError:
        path = shutil.which("tileiras") or ""
    return Need(what="tileiras", found=path and Path(path).name, ok=bool(path), how="" if path else how)


def _package(package: tuple[str, str, str]) -> Need:
    module, name, how = package
    try:
        there = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        there = False
    return Need(what=name, found="installed" if there else "", ok=there, how="" if there else how)
