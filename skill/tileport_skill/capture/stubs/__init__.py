"""Stand-ins for the CUDA driver and runtime, compiled at first use into the cache.

They belong to the capturing child process alone: nothing else may find them, so they are preloaded by path.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import threading
from pathlib import Path

from tileport_skill.capture.cache import cache_folder
from tileport_skill.errors import MachineryError

LIBRARIES = {"driver.c": "libcuda.so.1", "runtime.c": "libcudart-stub.so"}


@functools.cache
def preloaded() -> str:
    """The value of `LD_PRELOAD` for a child that needs a GPU and has none."""
    here = Path(__file__).parent
    return ":".join(str(_built(here / source, name)) for source, name in LIBRARIES.items())


def _built(source: Path, name: str) -> Path:
    text = source.read_bytes()
    folder = cache_folder("stubs", hashlib.sha256(text).hexdigest()[:16])
    target = folder / name
    if target.is_file():
        return target
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise MachineryError("No C compiler was found; capture needs one for its stand-in driver. Install gcc.")
    partial = folder / f"{name}.{os.getpid()}-{threading.get_ident()}"
    command = [
        compiler,
        "-shared",
        "-fPIC",
        "-O1",
        "-w",
        f"-Wl,-soname,{name}",
        str(source),
        "-o",
        str(partial),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise MachineryError(f"{source.name} did not compile:\n{done.stderr[-2000:]}")
    partial.replace(target)
    return target
