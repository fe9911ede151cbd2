"""Where this machine keeps cargo and the CUDA wheels."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from tileport_skill.errors import MachineryError


def cargo_program() -> Path:
    """`$CARGO`, cargo on the path, or the one rustup keeps under the home folder."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for candidate in (os.environ.get("CARGO"), shutil.which("cargo"), str(home / "bin" / "cargo")):
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    raise MachineryError("cargo was not found. Install Rust 1.89 or newer, or set CARGO to the program.")


def cuda_folder() -> Path:
    """The CUDA wheels' folder, whose headers the Rust crates' bindings are made from."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "cu13"
        if (folder / "include" / "cuda.h").is_file():
            return folder
    raise MachineryError("The CUDA wheels (nvidia/cu13 with include/cuda.h) are not installed in this Python.")
