"""Builds a crate against dependencies that this machine's ports have compiled already, one build at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tileport_skill.capture.cache import cache_folder
from tileport_skill.emit.rust import MINIMUM, ensure_rust
from tileport_skill.emit.tools import cuda_folder
from tileport_skill.errors import MachineryError

SECONDS = 1500
KEPT = 12
"""Programs that are kept built, the newest."""
_SEED = Path("/toolchain/target")
_SEED_LOCK = Path("/toolchain/src/seed/Cargo.lock")
_LOG = 6000


@contextmanager
def built(crate: Path, product: str, log: Path) -> Iterator[Path | str]:
    """`product` of the release build of `crate`, or the log's end where it does not build.

    It lies where the next build overwrites it, so it has to be copied within the context. Raises `MachineryError`
    where there is nothing to build with.
    """
    target = cache_folder() / "port-target"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = target / "release" / product
        said = _cargo(crate, target, made, log)
        yield said or (made if made.is_file() else f"cargo made no {product}")


def program_of(crate: Path, name: str, log: Path) -> Path | str:
    """The program `name` of a crate, kept by the content of its sources; or why it does not build."""
    sources = sorted(path for path in crate.glob("*") if path.suffix in {".rs", ".toml"})
    digest = hashlib.sha256(b"\0".join(path.name.encode() + b"\0" + path.read_bytes() for path in sources))
    folder = cache_folder("pipelines")
    kept = folder / digest.hexdigest()[:24]
    if kept.is_file():
        kept.touch()
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("built before from the same sources\n", encoding="utf-8")
        return kept
    with built(crate, name, log) as made:
        if isinstance(made, str):
            return made
        partial = kept.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        shutil.copy(made, partial)
        partial.replace(kept)
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)
    return kept


def _cargo(crate: Path, target: Path, made: Path, log: Path) -> str:
    """Empty if the crate builds."""
    if _SEED.is_dir() and not target.exists():
        shutil.copytree(_SEED, target, symlinks=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = ensure_rust(MINIMUM, cache_folder()).environment(cache_folder("cargo"))
    environment |= {"CARGO_TARGET_DIR": str(target), "CUDA_TOOLKIT_PATH": str(cuda_folder())}
    command = ["cargo", "build", "--release", *(["--offline"] if _SEED.is_dir() else [])]
    lock = crate / "Cargo.lock"
    had_lock = lock.exists()
    if not had_lock and _SEED_LOCK.is_file():
        shutil.copyfile(_SEED_LOCK, lock)
    made.unlink(missing_ok=True)
    with log.open("wb") as file:
        try:
            code = subprocess.run(
                command,
                cwd=crate,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=SECONDS,
                check=False,
            ).returncode
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MachineryError(f"cargo could not be run to its end: {error}") from error
        finally:
            if not had_lock:  # it is not part of the port
                lock.unlink(missing_ok=True)
    text = log.read_text(encoding="utf-8", errors="replace")
    return "" if code == 0 else text[-_LOG:] or f"exit {code}"
