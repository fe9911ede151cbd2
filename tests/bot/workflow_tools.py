"""actionlint, zizmor and act, at pinned versions, fetched once into the cache outside the repository."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from uv import find_uv_bin

_GO = {
    "actionlint": ("github.com/rhysd/actionlint/cmd/actionlint", "v1.7.12"),
    "act": ("github.com/nektos/act", "v0.2.89"),
}
_ZIZMOR = "1.32.0"


def tool(name: str) -> Path:
    """The program. Skips the test where it can neither be found nor fetched."""
    folder = _folder(name)
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = folder / "bin" / name if name == "zizmor" else folder / name
        if not program.is_file():
            _fetch(name, folder)
        return program


def _folder(name: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tileport" / "tools"
    cache.mkdir(parents=True, exist_ok=True)
    return cache / f"{name}-{_ZIZMOR if name == 'zizmor' else _GO[name][1]}"


def _fetch(name: str, folder: Path) -> None:
    if name == "zizmor":
        command = [find_uv_bin(), "pip", "install", "--quiet", "--target", str(folder), f"zizmor=={_ZIZMOR}"]
        _run(name, command, {})
        return
    if shutil.which("go") is None:
        pytest.skip(f"{name} is a Go program and go is not installed")
    module, version = _GO[name]
    _run(name, ["go", "install", f"{module}@{version}"], {"GOBIN": str(folder), "GOFLAGS": "-mod=mod"})


def _run(name: str, command: list[str], more: dict[str, str]) -> None:
    done = subprocess.run(command, env=os.environ | more, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{name} could not be fetched: {done.stderr.strip()[-300:]}")
