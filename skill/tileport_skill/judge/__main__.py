"""`python -m tileport_skill.judge`: builds the port in a checkout, compares its Tile IR, writes `findings.json`.

Exit status 0 means that judging came to an end, whatever was found; anything else is a failure of ours.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import TypeAdapter

from tileport_skill.errors import RequestError
from tileport_skill.judge.findings import COMPARING, Build, Findings, TileIr
from tileport_skill.judge.library import LIBRARY
from tileport_skill.tilegym.operators import Checkout, find_operator, open_checkout, read_operators
from tileport_skill.verify import verify

_BUILD_SECONDS = 1500
_COMMAND = ["cargo", "build", "--release", "--offline"]
_EXCERPT_LINES, _EXCERPT_BYTES = 40, 64_000
_PACKAGES = ("cuda-tile", "nvidia-cuda-tileiras", "torch")


def main() -> int:
    options = _parser().parse_args()
    checkout = open_checkout(options.checkout)
    _stage(options.out, "building the kernels crate")
    build = build_library(checkout, options.seed, options.out / "build.log")
    tile_ir = None
    if build.ok:
        _stage(options.out, COMPARING)
        tile_ir = compare_tile_ir(checkout, options)
    findings = Findings(build=build, tile_ir=tile_ir, versions=_versions())
    document = TypeAdapter(Findings).dump_python(findings, mode="json")
    part = options.out / "findings.part"
    part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    part.replace(options.out / "findings.json")
    _stage(options.out, "done")
    return 0


def build_library(checkout: Checkout, seed: Path, log: Path) -> Build:
    """Builds the crate with every dependency taken from `seed`, so that only the ports themselves are compiled."""
    crate = checkout.port_dir / "cutile_kernels"
    started = time.monotonic()
    # The checkout's own target and lock, if it brings any, are not what is judged.
    shutil.rmtree(crate / "target", ignore_errors=True)
    shutil.copytree(seed / "target", crate / "target", symlinks=True)
    shutil.copyfile(seed / "src/seed/Cargo.lock", crate / "Cargo.lock")
    with log.open("wb") as file:
        try:
            code = subprocess.run(
                _COMMAND, cwd=crate, stdout=file, stderr=subprocess.STDOUT, timeout=_BUILD_SECONDS, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            file.write(f"\nstopped after {_BUILD_SECONDS} s\n".encode())
            code = -1
    library = crate / LIBRARY
    return Build(
        ok=code == 0 and library.is_file(),
        seconds=time.monotonic() - started,
        command=" ".join(_COMMAND),
        excerpt=_last_lines(log),
        library_sha256=hashlib.sha256(library.read_bytes()).hexdigest() if library.is_file() else None,
    )


def compare_tile_ir(checkout: Checkout, options: argparse.Namespace) -> TileIr:
    """What the built port really launches in the operator's tests, against what the reference launches in the base.

    The tests' calls are made with awkward arguments too: the correctness gate makes these on a GPU, and passes no
    kernel that was not compared. The reference is captured where the port's code is not, so none of it can have a hand
    in that. Untuned unless it is asked for: the tuner's other configurations differ in hints alone, and take minutes.
    """
    started = time.monotonic()
    try:
        operator = find_operator(read_operators(checkout), options.operator)
        rows = verify(
            checkout,
            operator,
            options.arch,
            options.out / "capture",
            emitter=None,
            library=checkout.port_dir / "cutile_kernels" / LIBRARY,
            reference=open_checkout(options.base),
            tuning=options.tuning,
            again=True,
        )
    except RequestError as error:
        return TileIr(rows=(), seconds=time.monotonic() - started, problem=str(error))
    return TileIr(rows=rows, seconds=time.monotonic() - started)


def _stage(out: Path, text: str) -> None:
    """For the driver's progress line; written whole or not at all."""
    part = out / "stage.part"
    part.write_text(text, encoding="utf-8")
    part.replace(out / "stage")


def _last_lines(log: Path) -> str:
    with log.open("rb") as file:  # of a build without end this may be gigabytes
        file.seek(max(0, log.stat().st_size - _EXCERPT_BYTES))
        text = file.read().decode("utf-8", errors="replace")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("Compiling")]
    return "\n".join(lines[-_EXCERPT_LINES:])


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    return found | {"rustc": rustc.stdout.strip()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tileport_skill.judge", description=__doc__)
    parser.add_argument("--checkout", type=Path, required=True, help="the tree to judge; built in place")
    parser.add_argument("--base", type=Path, required=True, help="the same tree without the port")
    parser.add_argument("--operator", required=True)
    parser.add_argument("--out", type=Path, required=True, help="where findings.json and evidence go")
    parser.add_argument("--arch", nargs="+", required=True)
    parser.add_argument("--tuning", action="store_true", help="compare every configuration of the tuning space too")
    parser.add_argument("--seed", type=Path, default=Path("/toolchain"), help="the toolchain with the compiled crates")
    return parser


if __name__ == "__main__":
    sys.exit(main())
