"""Where this machine keeps the CUDA wheels."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tileport_skill.errors import MachineryError


def cuda_folder() -> Path:
    """The CUDA wheels' folder, whose headers the Rust crates' bindings are made from."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "cu13"
        if (folder / "include" / "cuda.h").is_file():
            return folder
    raise MachineryError("The CUDA wheels (nvidia/cu13 with include/cuda.h) are not installed in this Python.")
