"""Finds a Rust toolchain of this machine: the real one behind rustup's proxy, also when HOME is empty.

rustup's `cargo` is a proxy that looks for toolchains under HOME or RUSTUP_HOME; with an empty HOME it fails although
a toolchain is installed. So toolchains are looked for where rustup keeps them, and asked for their version directly.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tileport_skill.errors import MachineryError

MINIMUM = (1, 89)
"""What the crates TileGym pins need."""
_RUSTUP = "https://sh.rustup.rs"


@dataclass(frozen=True, slots=True, kw_only=True)
class RustToolchain:
    """A toolchain that runs: `sysroot/bin/{cargo,rustc}`."""

    sysroot: Path
    version: tuple[int, int, int]

    @property
    def cargo(self) -> Path:
        return self.sysroot / "bin" / "cargo"

    def environment(self, cargo_home: Path) -> dict[str, str]:
        """What cargo needs to use exactly this toolchain, whatever HOME is."""
        path = f"{self.sysroot / 'bin'}{os.pathsep}{os.environ.get('PATH', '/usr/bin:/bin')}"
        return {
            **os.environ,
            "PATH": path,
            "CARGO_HOME": str(cargo_home),
            "RUSTC": str(self.sysroot / "bin/rustc"),
        }


def find_rust(minimum: tuple[int, int]) -> RustToolchain | None:
    """The newest stable toolchain of at least `minimum`, or None. Runs `rustc --version` of each candidate."""
    found = [toolchain for sysroot in _sysroots() if (toolchain := _inspect(sysroot))]
    fit = [toolchain for toolchain in found if toolchain.version[:2] >= minimum]
    return max(fit, key=lambda toolchain: toolchain.version, default=None)


def ensure_rust(minimum: tuple[int, int], cache: Path) -> RustToolchain:
    """An installed toolchain, or one downloaded into the cache. Raises `MachineryError` saying what to install."""
    toolchain = find_rust(minimum) or find_rust_in(cache / "rustup", minimum)
    if toolchain:
        return toolchain
    _download(cache)
    toolchain = find_rust_in(cache / "rustup", minimum)
    if toolchain is None:
        raise MachineryError(f"rustup installed no Rust of at least {_text(minimum)}. Install one and try again.")
    return toolchain


def find_rust_in(rustup_home: Path, minimum: tuple[int, int]) -> RustToolchain | None:
    """The same, looking only below one rustup folder."""
    found = [t for sysroot in sorted(rustup_home.glob("toolchains/*")) if (t := _inspect(sysroot))]
    return max((t for t in found if t.version[:2] >= minimum), key=lambda t: t.version, default=None)


def _sysroots() -> list[Path]:
    homes = [Path.home(), *_home_of_this_user()]
    rustup = [Path(os.environ["RUSTUP_HOME"])] if os.environ.get("RUSTUP_HOME") else []
    rustup += [home / ".rustup" for home in homes] + [Path("/usr/local/rustup")]
    candidates = [path for home in dict.fromkeys(rustup) for path in sorted(home.glob("toolchains/*"))]
    rustc = shutil.which("rustc")
    if rustc and Path(rustc).resolve().name != "rustup":
        candidates.append(Path(rustc).resolve().parents[1])
    return candidates


def _home_of_this_user() -> list[Path]:
    """Whatever HOME says; nothing where the user is a number alone, as in our containers."""
    try:
        return [Path(pwd.getpwuid(os.getuid()).pw_dir)]
    except KeyError:
        return []


def _inspect(sysroot: Path) -> RustToolchain | None:
    """None for what is no stable toolchain with both cargo and rustc."""
    if not ((sysroot / "bin/cargo").exists() and (sysroot / "bin/rustc").exists()):
        return None
    done = subprocess.run([sysroot / "bin/rustc", "--version"], capture_output=True, text=True, check=False)
    match = re.match(r"rustc (\d+)\.(\d+)\.(\d+) ", done.stdout)
    if done.returncode != 0 or not match:
        return None
    major, minor, patch = map(int, match.groups())
    return RustToolchain(sysroot=sysroot, version=(major, minor, patch))


def _download(cache: Path) -> None:
    """rustup's own installer, minimal profile, into the cache and nowhere else."""
    home = {"RUSTUP_HOME": str(cache / "rustup"), "CARGO_HOME": str(cache / "cargo")}
    if shutil.which("curl") is None or shutil.which("sh") is None:
        raise MachineryError(
            "No Rust toolchain was found, nor curl to fetch rustup. Install Rust from https://rustup.rs."
        )
    script = f"curl --proto =https --tlsv1.2 -sSf {_RUSTUP} | sh -s -- -y --profile minimal --no-modify-path"
    done = subprocess.run(["sh", "-c", script], env={**os.environ, **home}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineryError(
            "No Rust toolchain was found, and rustup could not be downloaded "
            f"({done.stderr.strip() or 'no network'}). Install Rust from https://rustup.rs and try again."
        )


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
