"""A folder that a machine with a GPU can tune from by itself: plan, cubins, the reference, and our own code."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import tileport_skill
from tileport_skill.errors import RequestError
from tileport_skill.tilegym.operators import Checkout

_PARTS = (
    "__init__.py",
    "errors.py",
    "kernel_code.py",
    "correctness",
    "tilegym",
    "timing",
    "tuning",
)
"""Of `tileport_skill`: what runs there."""
_LEFT_OUT = shutil.ignore_patterns("target", "__pycache__", "*.pyc", "*.so", ".git")
_RUN = """#!/bin/sh
# On a machine with a GPU: sh run.sh [OPERATOR...]; run again, it goes on where it was.
# Needs python3 with torch, numpy, cuda-tile, cupti-python, and tileiras for what was not carried.
# TILEPORT_SECONDS bounds its wall time. Carry `tuning/` back without its cubins: `tileport-skill tune --from tuning`.
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
[ -d tuning/cubins ] || tar -C tuning -xJf tuning/cubins.tar.xz
PYTHONPATH="$here/skill${PYTHONPATH:+:$PYTHONPATH}" \\
  exec python3 -m tileport_skill.tuning.campaign tuning --repo "$here/tree" \\
  --seconds "${TILEPORT_SECONDS:-3600}" "$@"
"""


def pack(checkout: Checkout, tuning: Path, folder: Path) -> int:
    """Fills `folder`, which must not exist or be empty, from a laid-out tuning; answers with its size in bytes."""
    if folder.exists() and any(folder.iterdir()):
        raise RequestError(f"{folder} is not empty; give a new folder for the pack.")
    package = checkout.root / checkout.package
    shutil.copytree(package, folder / "tree" / "tilegym", ignore=_LEFT_OUT)
    source = Path(tileport_skill.__file__).parent
    for name in _PARTS:
        target = folder / "skill" / "tileport_skill" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target, ignore=_LEFT_OUT)
        else:
            shutil.copyfile(source / name, target)
    carried = folder / "tuning"
    carried.mkdir()
    for name in ("plan.json", "cubins.json"):
        shutil.copyfile(tuning / name, carried / name)
    with tarfile.open(carried / "cubins.tar.xz", "w:xz") as archive:
        archive.add(tuning / "cubins", "cubins")
    (folder / "run.sh").write_text(_RUN, encoding="utf-8")
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
