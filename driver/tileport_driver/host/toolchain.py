"""The toolchain: read-only folders named by their content, mounted into both images.

Python packages with the CUDA wheels, and their bytecode; Rust, the crates TileGym pins and a cargo target with each of
them compiled; the emitter. Four folders, as each changes more often than the one it is built on. Made once under the
cache; a half-made one is never seen under its name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import docker
from uv import find_uv_bin

from tileport_driver.container import run_to_end
from tileport_driver.host.paths import cache_dir, containers_dir, repository_root
from tileport_driver.host.versions import Versions
from tileport_skill.emit.rust import MINIMUM, RustToolchain, ensure_rust
from tileport_skill.errors import MachineryError

_FREE_GIB_NEEDED = 12
_BUILD_SECONDS = 1800
# The seed first: its target folder must look as TileGym's own crate would leave it. The emitter is built here only for
# its dependencies.
_CRATES_SCRIPT = """
set -e
for crate in seed emitter; do
    cargo build --release --locked --manifest-path /toolchain/src/$crate/Cargo.toml --target-dir /toolchain/target
done
rm -rf /toolchain/target/release/{libcutile_kernels*,tileport-emitter*,deps/libcutile_kernels*,deps/tileport*}
"""
_EMITTER_SCRIPT = """
set -e
cp -a /toolchain/target /tmp/target  # with its times: cargo builds anew what is not older than its dependents
cargo build --release --locked --manifest-path /source/Cargo.toml --target-dir /tmp/target
cp /tmp/target/release/tileport-emitter /out/
"""
# Of what is imported in every run; with it torch starts in half the time.
_BYTECODE_SCRIPT = """
unset PYTHONDONTWRITEBYTECODE
python3 -c 'import anthropic, cffi, cuda.tile, jinja2, numpy, pytest, rich, tenacity, torch._dynamo, typer, yaml'
"""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Four finished folders, and where each is mounted."""

    crates: Path
    """At /toolchain: Rust, vendored crates, compiled dependencies."""
    python: Path
    """At /toolchain/python."""
    bytecode: Path
    """At /bytecode, where PYTHONPYCACHEPREFIX points."""
    emitter: Path
    """At /emitter; holds the program `tileport-emitter`."""

    @property
    def mounts(self) -> dict[Path, str]:
        """Host folder -> folder inside, all read-only."""
        return {
            self.crates: "/toolchain",
            self.python: "/toolchain/python",
            self.bytecode: "/bytecode",
            self.emitter: "/emitter",
        }


def ensure_toolchain(
    client: docker.DockerClient, base_image: str, versions: Versions, say: Callable[[str], None]
) -> Toolchain:
    """The toolchain for these versions, made if it is missing. Raises `MachineryError` saying what is needed."""
    rust = ensure_rust(MINIMUM, cache_dir())
    python = _once("pythons", _python_key(), lambda part: _install_python(part, versions, say))
    builder = _Builder(client, base_image, say)
    bytecode = _once("bytecodes", python.name, lambda part: _make_bytecode(part, builder, python))
    crates = _once("crates", _crates_key(rust, versions), lambda part: _make_crates(part, builder, rust, python))
    emitter = _once("emitters", _emitter_key(crates), lambda part: _make_emitter(part, builder, crates, python))
    return Toolchain(crates, python, bytecode, emitter)


@dataclass(frozen=True, slots=True)
class _Builder:
    """What compiling in a container needs."""

    client: docker.DockerClient
    image: str
    say: Callable[[str], None]


def _once(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The folder of that key, made beside and renamed if it is not there; one maker at a time on a machine."""
    folder = cache_dir() / kind
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / key
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.is_dir():
            part = folder / "part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.rename(path)
    return path


def _install_python(part: Path, versions: Versions, say: Callable[[str], None]) -> None:
    _require_disk(part)
    say("toolchain: Python packages and CUDA wheels")
    command = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    command += ["--python-version", versions.python, "--python-platform", f"{platform.machine()}-manylinux_2_28"]
    command += ["--target", str(part), "-r", str(containers_dir() / "toolchain.lock")]
    _run(command, "installing the toolchain's Python packages")


def _make_bytecode(part: Path, builder: _Builder, python: Path) -> None:
    builder.say("toolchain: Python bytecode")
    _build(builder, _BYTECODE_SCRIPT, {part: "/bytecode"}, {python: "/toolchain/python"})


def _make_crates(part: Path, builder: _Builder, rust: RustToolchain, python: Path) -> None:
    builder.say("toolchain: Rust and vendored crates")
    (part / "python").mkdir()  # a place to mount the Python packages on
    _copy_rust(rust, part / "rust")
    for name, source in _crates().items():
        shutil.copytree(source, part / "src" / name, ignore=shutil.ignore_patterns("target"))
    _vendor(rust, part)
    builder.say("toolchain: compiling the crates (some minutes, once)")
    _build(builder, _CRATES_SCRIPT, {part: "/toolchain"}, {python: "/toolchain/python"})


def _make_emitter(part: Path, builder: _Builder, crates: Path, python: Path) -> None:
    builder.say("building the emitter")
    readable = {crates: "/toolchain", python: "/toolchain/python", _crates()["emitter"]: "/source"}
    _build(builder, _EMITTER_SCRIPT, {part: "/out"}, readable)


def _build(builder: _Builder, script: str, writable: dict[Path, str], readable: dict[Path, str]) -> None:
    finished = run_to_end(
        builder.client,
        image=builder.image,
        name=f"tileport-build-{os.getpid()}",
        command=["bash", "-c", script],
        writable=writable,
        readable=readable,
        seconds=_BUILD_SECONDS,
    )
    if finished.exit_code != 0:
        raise MachineryError("the toolchain's crates did not compile:\n" + finished.last_lines(30))


def _copy_rust(rust: RustToolchain, target: Path) -> None:
    """Compiler, cargo and standard library; no documentation, no other tools."""
    (target / "bin").mkdir(parents=True)
    for name in ("cargo", "rustc", "rustdoc", "rustfmt"):
        if (rust.sysroot / "bin" / name).exists():
            shutil.copy2(rust.sysroot / "bin" / name, target / "bin" / name)
    shutil.copytree(rust.sysroot / "lib", target / "lib", symlinks=True)


def _vendor(rust: RustToolchain, part: Path) -> None:
    seed, emitter = part / "src/seed/Cargo.toml", part / "src/emitter/Cargo.toml"
    command = [
        str(rust.cargo),
        "vendor",
        "--quiet",
        "--locked",
        "--versioned-dirs",
        "--manifest-path",
        str(seed),
    ]
    command += ["--sync", str(emitter), str(part / "vendor")]
    _run(command, "downloading the Rust crates", rust.environment(cache_dir() / "cargo"))


def _run(command: list[str], what: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = "\n".join(done.stderr.strip().splitlines()[-8:])
        raise MachineryError(f"{what} failed; is the package registry reachable and enough disk free?\n{words}")


def _crates() -> dict[str, Path]:
    return {"seed": containers_dir() / "seed", "emitter": repository_root() / "skill" / "emitter"}


def _python_key() -> str:
    return hashlib.sha256((containers_dir() / "toolchain.lock").read_bytes()).hexdigest()[:16]


def _crates_key(rust: RustToolchain, versions: Versions) -> str:
    """Of the Python packages only the CUDA wheels count: the crates' bindings are made from their headers."""
    lock = (containers_dir() / "toolchain.lock").read_text(encoding="utf-8")
    cuda = sorted(line.split(" ")[0] for line in lock.splitlines() if line.startswith("nvidia-cu"))
    digest = hashlib.sha256(repr((rust.version, versions.debian_suite, _CRATES_SCRIPT, cuda)).encode())
    for folder in _crates().values():
        for name in ("Cargo.toml", "Cargo.lock"):
            digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:16]


def _emitter_key(crates: Path) -> str:
    digest = hashlib.sha256(f"{crates.name}\0{_EMITTER_SCRIPT}".encode())
    folder = _crates()["emitter"]
    for path in sorted([folder / "Cargo.toml", folder / "Cargo.lock", *(folder / "src").rglob("*.rs")]):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _require_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free / 2**30
    if free < _FREE_GIB_NEEDED:
        raise MachineryError(
            f"{folder} has {free:.1f} GiB free; the toolchain needs {_FREE_GIB_NEEDED}. Free some, or set "
            "TILEPORT_CACHE to a folder on a larger disk."
        )
